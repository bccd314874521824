import { act, fireEvent, render, screen } from "@testing-library/preact";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Consent } from "../api/auth";
import { serve, visit, type Call } from "../test";
import { ConsentPage } from "./page";
import { safeRedirect } from "./redirect";

const registered: Consent = {
  person: { email: "viewer@sample.example", name: "Vera Viewer" },
  client_id: "c_123",
  claimed_name: "Claude Code",
  registered: { kind: "registered", at: "2026-11-30T12:00:00Z" },
  redirect: { scheme: "http", host: "127.0.0.1:7777", loopback: true },
  can: ["Run queries under your rights"],
  cannot: ["Change what your admins have set"],
};
const vouched: Consent = {
  ...registered,
  registered: { kind: "metadata_document", at: "2026-11-30T12:00:00Z" },
  vouched_host: "client.example",
  redirect: { scheme: "https", host: "client.example", loopback: false },
};
const builtIn: Consent = { ...registered, registered: { kind: "built_in", at: "2026-01-01T00:00:00Z" } };
const query = "client_id=c_123&scope=mcp&sig=a%2Bb";

async function open(consent: Consent): Promise<Call[]> {
  vi.useFakeTimers();
  visit(`/consent?${query}`);
  const calls = serve({
    "GET /api/v1/oauth/consent": { body: consent },
    "POST /api/v1/oauth/consent": { status: 403, body: { kind: "forbidden", detail: "No.", request_id: "r1" } },
  });
  render(<ConsentPage />);
  await act(async () => {
    await vi.advanceTimersByTimeAsync(0);
  });
  return calls;
}

const pass = (milliseconds: number) =>
  act(async () => {
    await vi.advanceTimersByTimeAsync(milliseconds);
  });
const button = (name: string) => screen.getByRole<HTMLButtonElement>("button", { name });
const isInert = (name: string) => button(name).getAttribute("aria-disabled") === "true";

beforeEach(() => visit("/consent"));

// OAUTH-54
describe("the claimed name is in a bdi, beside what vouches for it", () => {
  test.each([
    ["registered", registered, "Nothing vouches for the name"],
    ["metadata document", vouched, "vouched for by client.example"],
    ["built in", builtIn, "Nothing vouches"],
  ])("%s", async (_, consent, beside) => {
    await open(consent);
    const names = screen.getAllByText("Claude Code");
    expect(names).toHaveLength(1);
    expect(names[0]?.tagName).toBe("BDI");
    expect(names[0]?.closest("p")?.textContent).toContain(beside);
  });
});

// UI-13
test("Allow is inert for its first half second, and Deny never", async () => {
  const calls = await open(registered);
  expect(isInert("Allow")).toBe(true);
  expect(button("Deny").disabled).toBe(false);
  fireEvent.click(button("Allow"));
  await pass(499);
  expect(isInert("Allow")).toBe(true);
  fireEvent.click(button("Allow"));
  expect(calls.filter((c) => c.method === "POST")).toEqual([]);
  await pass(1);
  expect(isInert("Allow")).toBe(false);
});

// UI-13
test("Allow is inert again when the window comes to the front, and keeps its place for the keyboard", async () => {
  const calls = await open(registered);
  await pass(600);
  button("Allow").focus();
  await act(async () => {
    window.dispatchEvent(new Event("focus"));
  });
  expect(isInert("Allow")).toBe(true);
  expect(button("Allow").disabled).toBe(false);
  expect(document.activeElement).toBe(button("Allow"));
  fireEvent.click(button("Allow"));
  expect(calls.filter((c) => c.method === "POST")).toEqual([]);
  await pass(500);
  expect(isInert("Allow")).toBe(false);
});

test.each([
  ["Allow", true],
  ["Deny", false],
])("%s sends the query as it came", async (name, allow) => {
  const calls = await open(registered);
  expect(calls[0]?.path).toBe(`/api/v1/oauth/consent?${query}`);
  await pass(500);
  fireEvent.click(button(name));
  await pass(0);
  expect(calls.at(-1)).toEqual({ method: "POST", path: "/api/v1/oauth/consent", body: { query, allow } });
  expect(screen.getByRole("alert").textContent).toContain("r1");
});

// UI-13
test("a client on this computer gets its warning, a website none", async () => {
  await open(registered);
  expect(screen.getByText(/a program on this computer/)).toBeTruthy();
});
test("a client at a website gets no such warning", async () => {
  await open(vouched);
  expect(screen.queryByText(/a program on this computer/)).toBeNull();
});

// UI-06
test("a request that was changed is told, and nothing can be answered", async () => {
  visit("/consent?tampered=1");
  serve({ "GET /api/v1/oauth/consent": { status: 400, body: { title: "Bad Request", detail: "The request was changed." } } });
  render(<ConsentPage />);
  expect(await screen.findByText("The request was changed.")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Allow" })).toBeNull();
  expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
});

test("both lists and the person are shown", async () => {
  await open(registered);
  for (const text of ["Run queries under your rights", "Change what your admins have set", "Vera Viewer"]) {
    expect(screen.getByText(text)).toBeTruthy();
  }
});

test("an address that would run in the page is never opened", () => {
  expect(safeRedirect("http://127.0.0.1:7777/cb?code=1")).toBe("http://127.0.0.1:7777/cb?code=1");
  expect(safeRedirect("com.example.app:/cb?code=1")).toBe("com.example.app:/cb?code=1");
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "/relative", ""]) {
    expect(() => safeRedirect(bad)).toThrow("cannot be opened");
  }
});
