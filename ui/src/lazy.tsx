import { useEffect, useState } from "preact/hooks";
import type { Screen } from "./router";
import { Loading } from "./ui/loaded";

// lazy is a screen whose code is fetched when it is first shown.
export function lazy(fetchScreen: () => Promise<Screen>): Screen {
  let ready: Screen | undefined;
  return function Lazy({ params }) {
    const [state, setState] = useState<"loading" | "ready" | "failed">(ready ? "ready" : "loading");
    useEffect(() => {
      let current = true;
      if (ready) return;
      fetchScreen().then(
        (screen) => {
          ready = screen;
          if (current) setState("ready");
        },
        () => current && setState("failed"),
      );
      return () => {
        current = false;
      };
    }, []);
    if (state === "ready" && ready) {
      const Ready = ready;
      return <Ready params={params} />;
    }
    if (state === "loading") return <Loading />;
    // The files of an older build are gone once a newer one is deployed.
    return (
      <p class="notice bad" role="alert">
        This page could not be loaded. <a href={location.href} target="_self">Load it again</a>.
      </p>
    );
  };
}
