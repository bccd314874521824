import paths from "../paths.json";
import { match } from "./router";

export const isScreen = (path: string) => paths.some((pattern) => match(pattern, path) !== undefined);

// Where the sign-in may send someone besides the screens: back into an
// authorization that was under way.
const authorize = "/api/auth/oauth2/authorize";

// safeNext returns next where it is a place of this origin that a sign-in may
// lead to, and home otherwise. The address is resolved as the browser will
// resolve it and then held against the list, so that no spelling of another
// origin ("//host", "/\host", "/..//host") gets through.
export function safeNext(next: string | null): string {
  if (next === null || !next.startsWith("/")) return "/";
  let url: URL;
  try {
    url = new URL(next, location.origin);
  } catch {
    return "/";
  }
  if (url.origin !== location.origin || url.pathname === "/sign-in") return "/";
  if (url.pathname !== authorize && !isScreen(url.pathname)) return "/";
  return url.pathname + url.search + url.hash;
}

// signInPath is the sign-in screen that leads back to where the page is now.
export const signInPath = () => `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
