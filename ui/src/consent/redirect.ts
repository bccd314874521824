import { Problem } from "../api/problem";

// Schemes whose addresses run or show something here instead of going elsewhere.
const inPage = new Set(["javascript:", "data:", "blob:", "vbscript:", "file:", "about:"]);

// safeRedirect lets through the address that a consent's answer leads to. The api
// has matched it with the client's registration; this is the second lock.
export function safeRedirect(to: string): string {
  const url = URL.canParse(to) ? new URL(to) : undefined;
  if (!url || inPage.has(url.protocol)) {
    throw new Problem({
      status: 0,
      kind: "invalid",
      detail: "The client's return address cannot be opened.",
      next: "Close this page and start again from the client.",
    });
  }
  return url.href;
}
