import { useEffect, useRef, useState } from "preact/hooks";
import { navigate, useAddress } from "./router";

const pause = 250; // milliseconds without typing that send the search

// SearchBox searches as one types, and is reached from everywhere by / or Ctrl-K.
export function SearchBox() {
  const { path, query } = useAddress();
  const asked = path === "/" ? (query.get("q") ?? "") : "";
  const [text, setText] = useState(asked);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();

  useEffect(() => {
    // Going back, or away, changes the address; the box follows, but not while
    // it is being typed in, when the address follows the box.
    if (document.activeElement !== input.current) setText(asked);
  }, [asked]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const inField = event.target instanceof HTMLElement && event.target.closest("input, textarea, select");
      const slash = event.key === "/" && !inField && !event.ctrlKey && !event.metaKey && !event.altKey;
      const ctrlK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
      if (!slash && !ctrlK) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      clearTimeout(timer.current);
    };
  }, []);

  const go = (words: string) => {
    clearTimeout(timer.current);
    if (words.trim() === asked.trim()) return;
    const to = words.trim() === "" ? "/" : `/?q=${encodeURIComponent(words.trim())}`;
    // One step back leads out of a search, however many letters it had.
    navigate(to, { replace: path === "/" && asked !== "" });
  };

  return (
    <form
      role="search"
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        go(text);
      }}
    >
      <input
        ref={input}
        type="search"
        aria-label="Search measures, columns, tables and datasets"
        aria-keyshortcuts="/ Control+K"
        placeholder="Search the book ( / )"
        maxLength={400}
        autocomplete="off"
        value={text}
        onInput={(event) => {
          const words = event.currentTarget.value;
          setText(words);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => go(words), pause);
        }}
      />
    </form>
  );
}
