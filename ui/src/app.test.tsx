import { act, fireEvent, render, screen } from "@testing-library/preact";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { serve, visit } from "./test";

const me = { kind: "person", id: "1", email: "viewer@sample.example", roles: ["viewer"], via: "browser", power_bi: { state: "none" } };
const config = { providers: [], passkeys: false, dev_sign_in: true, sample_data: false };

// What is remembered for as long as a page stands is forgotten between tests.
async function open(address: string, answers: Parameters<typeof serve>[0] = {}) {
  vi.resetModules();
  visit(address);
  const calls = serve({
    "GET /api/auth/config": { body: config },
    "GET /api/v1/me": { body: me },
    "GET /api/v1/datasets": { body: { items: [], total: 0 } },
    ...answers,
  });
  const { App } = await import("./app");
  render(<App />);
  return calls;
}

beforeEach(() => vi.stubGlobal("scrollTo", () => {}));

// UI-03, TENANT-20
describe("the sample data band", () => {
  test.each(["/", "/sign-in", "/consent?a=b", "/device", "/datasets/d1", "/me", "/admin/pii", "/admin/audit", "/no-such-page"])(
    "is on %s when the deployment runs on sample data",
    async (address) => {
      await open(address, { "GET /api/auth/config": { body: { ...config, sample_data: true } } });
      expect(await screen.findByText(/^Sample data/)).toBeTruthy();
    },
  );

  test.each([false, "true", 1, undefined])("is absent when sample_data is %j", async (sample) => {
    await open("/sign-in", { "GET /api/auth/config": { body: { ...config, sample_data: sample } } });
    await screen.findByLabelText("Email");
    expect(screen.queryByText(/^Sample data/)).toBeNull();
  });
});

test("someone without a session signs in and comes back to where they were", async () => {
  const unauthenticated = { status: 401, body: { kind: "unauthenticated", detail: "Sign in first." } };
  await open("/admin/audit?outcome=deny", { "GET /api/v1/me": unauthenticated, "GET /api/v1/admin/audit": unauthenticated });
  await screen.findByRole("heading", { name: "Sign in" });
  expect(location.pathname + location.search).toBe("/sign-in?next=%2Fadmin%2Faudit%3Foutcome%3Ddeny");
});

// UI-06
test("a failed list says why, gives the request id, and loads on trying again", async () => {
  let broken = true;
  await open("/", {
    "GET /api/v1/datasets": () =>
      broken
        ? { status: 503, body: { kind: "unavailable", detail: "The database cannot be reached.", request_id: "r-503" } }
        : { body: { items: [], total: 0 } },
  });
  expect(await screen.findByText("The database cannot be reached.")).toBeTruthy();
  expect(screen.getByText("r-503")).toBeTruthy();
  broken = false;
  fireEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByText("No dataset is visible to you yet.")).toBeTruthy();
});

// UI-06
test("an answer that is no problem details still says something", async () => {
  vi.stubGlobal("fetch", async () => new Response("<html>bad gateway</html>", { status: 502, headers: { "X-Request-Id": "r-502" } }));
  const { listDatasets } = await import("./api/operations");
  await expect(listDatasets()).rejects.toMatchObject({ kind: "internal", requestId: "r-502" });
});

test("without a connection home asks for one", async () => {
  await open("/");
  const link = await screen.findByRole("link", { name: "Connect Power BI" });
  expect(link.getAttribute("href")).toBe("/api/v1/me/connection/start?next=%2F");
});

test("home gives the exact line for Claude Code and the bare address", async () => {
  await open("/");
  expect(await screen.findByText(`claude mcp add --transport http pbmb ${location.origin}/api/mcp`)).toBeTruthy();
  expect(screen.getByText(`${location.origin}/api/mcp`)).toBeTruthy();
});

// UI-09
test("typing searches once, after a pause, and / reaches the box", async () => {
  const calls = await open("/", { "GET /api/v1/search": { body: { items: [] } } });
  await screen.findByText("No dataset is visible to you yet.");
  fireEvent.keyDown(document.body, { key: "/" });
  const box = screen.getByRole("searchbox");
  expect(document.activeElement).toBe(box);
  const wait = (milliseconds: number) =>
    act(async () => {
      await vi.advanceTimersByTimeAsync(milliseconds);
    });
  const searches = () => calls.filter((c) => c.path.startsWith("/api/v1/search"));
  vi.useFakeTimers();
  for (const text of ["n", "ne", "net"]) {
    fireEvent.input(box, { target: { value: text } });
    await wait(200);
  }
  expect(searches()).toEqual([]);
  await wait(50);
  await wait(1000); // and no second one later
  expect(searches().map((c) => c.path)).toEqual(["/api/v1/search?query=net&limit=50"]);
  expect(location.search).toBe("?q=net");
});

test("only an admin is shown the way to administration", async () => {
  await open("/", { "GET /api/v1/me": { body: { ...me, roles: ["admin"] } } });
  expect(await screen.findByRole("link", { name: "Audit" })).toBeTruthy();
});
test("a viewer is not shown the way to administration", async () => {
  await open("/");
  await screen.findByRole("link", { name: "Connect Power BI" });
  expect(screen.queryByRole("link", { name: "Audit" })).toBeNull();
});

test("what the address says of a connection is shown in fixed words only", async () => {
  await open("/?power_bi=%3Cb%3Ecall%20us%3C/b%3E");
  await screen.findByRole("link", { name: "Connect Power BI" });
  expect(document.body.textContent).not.toContain("call us");
});
