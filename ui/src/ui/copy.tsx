import { useEffect, useState } from "preact/hooks";

// CopyButton copies text and says so, to the eye and to a screen reader.
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [outcome, setOutcome] = useState<"" | "Copied" | "Copying failed">("");
  useEffect(() => {
    if (outcome === "") return;
    const timer = setTimeout(() => setOutcome(""), 2000);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome("Copied");
    } catch {
      // Denied, or no clipboard, as on a plain http address: the text is there to be selected.
      setOutcome("Copying failed");
    }
  };
  return (
    <>
      <button type="button" class="copy" onClick={copy} aria-label={`Copy ${what}`}>
        {outcome || "Copy"}
      </button>
      <span class="visually-hidden" role="status">
        {outcome}
      </span>
    </>
  );
}
