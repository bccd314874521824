import { lazy } from "./lazy";
import type { Screen } from "./router";

// The screen of each path in paths.json.
export const screens: Record<string, Screen> = {
  "/sign-in": lazy(() => import("./signin/page").then((m) => m.SignInPage)),
  "/consent": lazy(() => import("./consent/page").then((m) => m.ConsentPage)),
};
