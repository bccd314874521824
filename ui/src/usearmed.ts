import { useEffect, useState } from "preact/hooks";

// useArmed is false for a while after the screen appears, and again each time
// the window comes to the front: a click that was meant for what lay there
// before must not land on Allow.
export function useArmed(milliseconds: number): boolean {
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const restart = () => {
      clearTimeout(timer);
      setArmed(false);
      timer = setTimeout(() => setArmed(true), milliseconds);
    };
    restart();
    window.addEventListener("focus", restart);
    document.addEventListener("visibilitychange", restart);
    return () => {
      clearTimeout(timer);
      window.removeEventListener("focus", restart);
      document.removeEventListener("visibilitychange", restart);
    };
  }, [milliseconds]);
  return armed;
}
