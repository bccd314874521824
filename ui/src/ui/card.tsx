import type { ComponentChildren } from "preact";
import { Brand } from "./brand";

// CardPage is the frame of the screens that stand alone: no way around, one thing to do.
export function CardPage({ children }: { children: ComponentChildren }) {
  return (
    <div class="card-page">
      <main class="card" id="main">
        <Brand />
        {children}
      </main>
    </div>
  );
}
