import { useEffect, useRef } from "preact/hooks";

// useSought gives the ref of a row that comes into view by itself where it is the
// one that was sought, unless the person is still typing what to look for.
export function useSought(sought: boolean) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    const typing = document.activeElement instanceof HTMLInputElement;
    if (sought && !typing) row.current?.scrollIntoView({ block: "center" });
  }, []);
  return row;
}
