import { expect, test } from "vitest";
import paths from "../paths.json";
import { safeNext } from "./next";
import { match } from "./router";
import { framed, standing } from "./screens";

test("NET-07 every path of paths.json has its screen, and no other has one", () => {
  expect(Object.keys({ ...standing, ...framed }).sort()).toEqual([...paths].sort());
});

test.each([
  "/",
  "/?q=net+sales",
  "/datasets/0c5d2a36-0000-4000-8000-000000000001",
  "/admin/pii",
  "/consent?client_id=a&sig=b%2Fc",
  "/api/auth/oauth2/authorize?client_id=a&redirect_uri=http%3A%2F%2F127.0.0.1%3A9999%2F",
])("next %s is kept", (next) => {
  expect(safeNext(next)).toBe(next);
});

test.each([
  null,
  "",
  "me",
  "https://evil.example/",
  "//evil.example/",
  "//evil.example/me",
  "/\\evil.example/",
  "\\/evil.example",
  "/\t/evil.example",
  "/..//evil.example/",
  "/.//evil.example/",
  "javascript:alert(1)",
  "/api/auth/sign-out",
  "/api/v1/results/1/csv",
  "/api/auth/oauth2/authorize/../../sign-out",
  "/datasets/a/b",
  "/datasets/",
  "/sign-in?next=/sign-in",
  "/nothing-here",
])("next %j leads home", (next) => {
  expect(safeNext(next)).toBe("/");
});

test("a path's named segment is one non-empty segment, decoded", () => {
  expect(match("/datasets/:id", "/datasets/a%20b")).toEqual({ id: "a b" });
  expect(match("/datasets/:id", "/datasets/%")).toBeUndefined();
  expect(match("/datasets/:id", "/datasets")).toBeUndefined();
});
