import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../api/problem";
import type { Load } from "../useload";
import { NoPermission, ProblemNotice } from "./notice";

type Props<T> = {
  load: Load<T> & { reload: () => void };
  noPermission?: string; // what to do for those who may not
  children: (data: T) => ComponentChildren;
};

// Loaded shows what a load gave, or the state that it is in.
export function Loaded<T>({ load, noPermission, children }: Props<T>) {
  if (load.state === "loading") return <Loading />;
  if (load.state === "done") return <>{children(load.data)}</>;
  if (noPermission && load.problem.status === 403) return <NoPermission>{noPermission}</NoPermission>;
  return <ProblemNotice problem={load.problem} {...(mayPass(load.problem) && { retry: load.reload })} />;
}

// mayPass says whether the same request can succeed later: not what was wrong with it.
const mayPass = ({ status }: Problem) => status === 0 || status === 429 || status >= 500;

// Loading shows itself only when waiting has become noticeable.
export function Loading() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="loading" role="status">
      {late && "Loading…"}
    </p>
  );
}
