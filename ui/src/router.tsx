// The router: which screen a path shows, and navigation without a page load.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export type Params = Record<string, string>;
export type Screen = ComponentType<{ params: Params }>;

// match gives the values of pattern's ":name" segments in path, or undefined
// where the path is another one.
export function match(pattern: string, path: string): Params | undefined {
  const want = pattern.split("/");
  const have = path.split("/");
  if (want.length !== have.length) return undefined;
  const params: Params = {};
  for (const [i, segment] of want.entries()) {
    const value = have[i] ?? "";
    if (!segment.startsWith(":")) {
      if (segment !== value) return undefined;
      continue;
    }
    if (value === "") return undefined;
    try {
      params[segment.slice(1)] = decodeURIComponent(value);
    } catch {
      return undefined; // a stray % is no path of ours
    }
  }
  return params;
}

const moved = new EventTarget();

export function navigate(to: string, options: { replace?: boolean } = {}) {
  if (options.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  moved.dispatchEvent(new Event("move"));
}

// useAddress gives the path and query of the page and follows their changes.
export function useAddress(): { path: string; query: URLSearchParams } {
  const read = () => location.pathname + location.search;
  const [address, setAddress] = useState(read);
  useEffect(() => {
    const update = () => setAddress(read());
    moved.addEventListener("move", update);
    window.addEventListener("popstate", update);
    return () => {
      moved.removeEventListener("move", update);
      window.removeEventListener("popstate", update);
    };
  }, []);
  const [path = "/", query = ""] = address.split("?");
  return { path, query: new URLSearchParams(query) };
}

// followLinks makes plain clicks on links to screens navigate without a load.
export function followLinks(isScreen: (path: string) => boolean) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || link.target || link.origin !== location.origin || !isScreen(link.pathname)) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  };
  document.addEventListener("click", follow);
  return () => document.removeEventListener("click", follow);
}
