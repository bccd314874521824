import { getAuthConfig } from "./api/auth";
import { useLoad } from "./useload";

// Band says on every screen that nothing here is real, where that is so.
export function Band() {
  const config = useLoad(getAuthConfig, "config");
  if (config.state !== "done" || config.data.sample_data !== true) return null;
  return (
    <aside class="band" aria-label="Notice">
      Sample data: nobody here is real.
    </aside>
  );
}
