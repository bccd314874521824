import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

let first = true;

// PageHeading is a screen's one h1. After a navigation it takes the focus, so
// that a screen reader says where the person has arrived, except from someone who
// is typing a search. It also titles the page.
export function PageHeading({ title, children }: { title: string; children?: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · pbmb`;
    const typing = document.activeElement instanceof HTMLInputElement;
    if (!first && !typing) heading.current?.focus({ preventScroll: true });
    first = false;
  }, [title]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children ?? title}
    </h1>
  );
}
