import { lazy } from "./lazy";
import type { Screen } from "./router";

// The screens that stand alone, and those inside the frame for people who have
// signed in. Together they have one for each path in paths.json.
export const standing: Record<string, Screen> = {
  "/sign-in": lazy(() => import("./signin/page").then((m) => m.SignInPage)),
  "/consent": lazy(() => import("./consent/page").then((m) => m.ConsentPage)),
  "/device": lazy(() => import("./device/page").then((m) => m.DevicePage)),
};

export const framed: Record<string, Screen> = {
  "/": lazy(() => import("./home/page").then((m) => m.HomePage)),
  "/datasets/:id": lazy(() => import("./dataset/page").then((m) => m.DatasetPage)),
  "/me": lazy(() => import("./account/page").then((m) => m.AccountPage)),
  "/admin/datasets": lazy(() => import("./switch/page").then((m) => m.SwitchPage)),
  "/admin/pii": lazy(() => import("./pii/page").then((m) => m.PIIPage)),
  "/admin/roles": lazy(() => import("./role/page").then((m) => m.RolePage)),
  "/admin/sign-in": lazy(() => import("./provider/page").then((m) => m.ProviderPage)),
  "/admin/audit": lazy(() => import("./audit/page").then((m) => m.AuditPage)),
};
