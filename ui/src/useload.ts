import { useCallback, useEffect, useState } from "preact/hooks";
import { asProblem, type Problem } from "./api/problem";
import { navigate } from "./router";
import { signInPath } from "./next";

export type Load<T> = { state: "loading" } | { state: "done"; data: T } | { state: "failed"; problem: Problem };

// useLoad calls load when its key changes, and again on reload. Someone whose
// session has ended is sent to sign in and comes back to where they were.
export function useLoad<T>(load: () => Promise<T>, key: string): Load<T> & { reload: () => void } {
  const [result, setResult] = useState<{ key: string; load: Load<T> }>({ key, load: { state: "loading" } });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let current = true;
    const settle = (l: Load<T>) => current && setResult({ key, load: l });
    load().then(
      (data) => settle({ state: "done", data }),
      (thrown: unknown) => {
        const problem = asProblem(thrown);
        if (problem.status === 401 && current) navigate(signInPath(), { replace: true });
        else settle({ state: "failed", problem });
      },
    );
    return () => {
      current = false;
    };
    // load is a new closure on every render; key says when it means something else.
  }, [key, turn]);
  const reload = useCallback(() => setTurn((t) => t + 1), []);
  const shown: Load<T> = result.key === key ? result.load : { state: "loading" };
  return { ...shown, reload };
}
