import { act, fireEvent, render, screen } from "@testing-library/preact";
import { describe, expect, test, vi } from "vitest";
import type { DeviceRequest } from "../api/auth";
import { serve, visit } from "../test";
import { DevicePage } from "./page";

const me = { kind: "person", id: "1", email: "viewer@sample.example", roles: ["viewer"], via: "browser", power_bi: { state: "none" } };
const waiting: DeviceRequest = {
  person: { email: "viewer@sample.example", name: "Vera Viewer" },
  client_id: "pbmb-cli",
  started_at: "2026-11-30T12:00:00Z",
  started_from: "203.0.113.9",
  expires_at: "2026-11-30T12:10:00Z",
  can: ["Do all that you can do"],
  cannot: ["See your password"],
};
const refused = { status: 404, body: { title: "Not Found", detail: "This code cannot be answered." } };

const pass = (milliseconds: number) =>
  act(async () => {
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });
const isInert = (name: string) => button(name).getAttribute("aria-disabled") === "true";
const input = () => screen.getByLabelText<HTMLInputElement>(/^Code/);

async function open(address: string, answers: Parameters<typeof serve>[0] = {}) {
  vi.useFakeTimers();
  visit(address);
  const calls = serve({
    "GET /api/v1/me": { body: me },
    "GET /api/v1/oauth/device": { body: waiting },
    "POST /api/v1/oauth/device": (call) => ({ body: { allowed: Reflect.get(Object(call.body), "allow") } }),
    ...answers,
  });
  render(<DevicePage />);
  await pass(0);
  return calls;
}

async function lookUp(code: string) {
  fireEvent.input(input(), { target: { value: code } });
  fireEvent.click(button("Look it up"));
  await pass(0);
}

// OAUTH-64
test.each(["/device?user_code=ABCD-EFGH", "/device?code=ABCD-EFGH", "/device#ABCD-EFGH"])(
  "%s leaves the code to the person",
  async (address) => {
    const calls = await open(address);
    expect(input().value).toBe("");
    expect(calls.map((c) => c.path)).toEqual(["/api/v1/me"]);
  },
);

// OAUTH-59
test("the question shows when and from where it was started, and warns", async () => {
  const calls = await open("/device");
  await lookUp("bcdf-ghjk");
  expect(calls.at(-1)?.path).toBe("/api/v1/oauth/device?user_code=bcdf-ghjk");
  expect(document.querySelector("time")?.getAttribute("datetime")).toBe(waiting.started_at);
  for (const text of ["203.0.113.9", "BCDF-GHJK", "Vera Viewer", "Do all that you can do", "See your password"]) {
    expect(screen.getByText(text)).toBeTruthy();
  }
  expect(screen.getByText(/Nothing vouches for this program/)).toBeTruthy();
});

describe("the answer is sent with the code", () => {
  test.each([
    ["Allow", true, /^Allowed/],
    ["Deny", false, /^Denied/],
  ])("%s", async (name, allow, told) => {
    const calls = await open("/device");
    await lookUp("BCDF-GHJK");
    expect(isInert("Allow")).toBe(true);
    expect(button("Deny").disabled).toBe(false);
    await pass(500);
    fireEvent.click(button(name));
    await pass(0);
    expect(calls.at(-1)).toEqual({ method: "POST", path: "/api/v1/oauth/device", body: { user_code: "BCDF-GHJK", allow } });
    expect(screen.getByRole("status").textContent).toMatch(told);
    expect(screen.queryByRole("button")).toBeNull();
  });
});

// UI-06
test("a code that cannot be answered is told, at the look-up and at the answer", async () => {
  let gone = false;
  const calls = await open("/device", {
    "GET /api/v1/oauth/device": () => (gone ? { body: waiting } : refused),
    "POST /api/v1/oauth/device": refused,
  });
  await lookUp("BCDF-GHJK");
  expect(screen.getByRole("alert").textContent).toContain("This code cannot be answered.");
  expect(input().value).toBe("BCDF-GHJK");
  gone = true;
  await lookUp("BCDF-GHJK");
  await pass(500);
  fireEvent.click(button("Allow"));
  await pass(0);
  expect(screen.getByRole("alert").textContent).toContain("This code cannot be answered.");
  expect(calls.filter((c) => c.method === "POST")).toHaveLength(1);
  fireEvent.click(button("Type another code"));
  await pass(0);
  expect(input().value).toBe("");
});

test("who is not signed in does that first, and no code travels along", async () => {
  await open("/device?user_code=ABCD-EFGH", { "GET /api/v1/me": { status: 401, body: { kind: "unauthenticated", detail: "No." } } });
  expect(location.pathname).toBe("/sign-in");
  expect(screen.queryByLabelText(/^Code/)).toBeNull();
});
