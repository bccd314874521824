import { fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { serve, visit, withPasskeys, type Call } from "../test";

const laptop = { id: "p1", name: "Laptop", synced: false, created_at: "2026-11-30T12:00:00Z" };
const phone = { ...laptop, id: "p2", name: "Phone", synced: true, last_used_at: "2026-11-30T13:00:00Z" };

// A list that changes as the calls say, as the server's would.
async function open(answers: Parameters<typeof serve>[0] = {}, passkeys = true) {
  vi.resetModules();
  visit("/me");
  let own = [laptop, phone];
  const calls = serve({
    "GET /api/auth/config": { body: { providers: [], passkeys, dev_sign_in: false, sample_data: false } },
    "GET /api/v1/me": { status: 403, body: { kind: "forbidden", detail: "No role." } },
    "GET /api/v1/me/grants": { body: { items: [], total: 0 } },
    "GET /api/auth/passkeys": () => ({ body: { items: own } }),
    "POST /api/auth/passkeys/options": { body: { publicKey: { challenge: "c1" } } },
    "POST /api/auth/passkeys": (call: Call) => {
      const added = { ...laptop, id: "p3", name: String(Reflect.get(Object(call.body), "name")) };
      own = [...own, added];
      return { status: 201, body: added };
    },
    "DELETE /api/auth/passkeys": (call: Call) => {
      own = own.filter((p) => !call.path.endsWith(`?id=${p.id}`));
      return { status: 204, body: null };
    },
    ...answers,
  });
  const { AccountPage } = await import("./page");
  render(<AccountPage />);
  await expect.poll(() => calls.some((c) => c.path === "/api/auth/config")).toBe(true);
  return calls;
}

const changes = (calls: Call[]) => calls.filter((c) => c.method !== "GET").map((c) => [c.method, c.path, c.body]);

async function addNamed(name: string) {
  fireEvent.input(await screen.findByLabelText(/^Name of the new passkey/), { target: { value: name } });
  fireEvent.click(screen.getByRole("button", { name: "Add a passkey" }));
}

// SIGNIN-26: also for somebody whom no role reaches.
test("lists one's own passkeys", async () => {
  await open();
  const list = within(await screen.findByRole("region", { name: "Passkeys" }));
  const rows = await list.findAllByRole("listitem");
  expect(rows.map((r) => r.textContent)).toEqual([expect.stringMatching(/^Laptop.*not used yet/), expect.stringMatching(/^Phonesynced.*last used/)]);
  expect(screen.getByText(/You do not have permission/)).toBeTruthy();
});

test("adds a passkey under a name", async () => {
  const browser = withPasskeys(() => ({ id: "k3" }));
  const calls = await open();
  await addNamed(" Work key ");
  expect(await screen.findByText("“Work key” is added.")).toBeTruthy();
  expect(await screen.findByRole("button", { name: "Remove Work key" })).toBeTruthy();
  expect(browser.asked).toEqual([{ challenge: "c1" }]);
  expect(changes(calls)).toEqual([
    ["POST", "/api/auth/passkeys/options", ""],
    ["POST", "/api/auth/passkeys", { name: "Work key", credential: { id: "k3" } }],
  ]);
});

test.each([
  ["passkey_refused", /did not prove that you unlocked it/],
  ["passkey_exists", /has a passkey of yours already/],
  ["passkey_many", /Remove one first/],
  ["passkey_name", /1 to 60 characters/],
  ["expired", /took too long/],
  ["unavailable", /did not answer/],
  ["constructor", /The passkey was not added/],
])("the code %s has a sentence of its own", async (code, sentence) => {
  withPasskeys(() => ({ id: "k3" }));
  await open({ "POST /api/auth/passkeys": { status: 403, body: { code, detail: "The api's own words." } } });
  await addNamed("Work key");
  const alert = (await screen.findAllByRole("alert")).map((a) => a.textContent).join();
  expect(alert).toMatch(sentence);
  expect(document.body.textContent).not.toContain("The api's own words.");
});

test.each([
  ["InvalidStateError", /has a passkey of yours already/],
  ["NotAllowedError", /No passkey was made/],
])("what the browser says by %s is told", async (name, sentence) => {
  withPasskeys(() => new DOMException("words of the browser", name));
  const calls = await open();
  await addNamed("Work key");
  expect(await screen.findByText(sentence)).toBeTruthy();
  expect(changes(calls)).toHaveLength(1);
});

test("removes a passkey, and only after asking", async () => {
  const calls = await open();
  fireEvent.click(await screen.findByRole("button", { name: "Remove Laptop" }));
  expect(changes(calls)).toEqual([]);
  const dialog = screen.getByRole("dialog", { name: "Remove the passkey Laptop" });
  fireEvent.click(within(dialog).getByRole("button", { name: "Remove the passkey" }));
  await expect.poll(() => screen.queryByRole("button", { name: "Remove Laptop" })).toBeNull();
  expect(changes(calls)).toEqual([["DELETE", "/api/auth/passkeys?id=p1", ""]]);
  expect(screen.getByText("“Laptop” is removed.")).toBeTruthy();
});

test("keeps a passkey that somebody thought better of removing", async () => {
  const calls = await open();
  fireEvent.click(await screen.findByRole("button", { name: "Remove Laptop" }));
  fireEvent.click(within(screen.getByRole("dialog", { name: "Remove the passkey Laptop" })).getByRole("button", { name: "Keep it" }));
  expect(changes(calls)).toEqual([]);
});

test("a browser without passkeys is told so, and can remove them", async () => {
  await open();
  expect(await screen.findByText(/This browser cannot add passkeys/)).toBeTruthy();
  expect(screen.getByRole("button", { name: "Remove Phone" })).toBeTruthy();
});

test("a deployment without passkeys shows nothing of them", async () => {
  const calls = await open({}, false);
  await screen.findByText(/You do not have permission/);
  expect(screen.queryByRole("region", { name: "Passkeys" })).toBeNull();
  expect(calls.map((c) => c.path)).not.toContain("/api/auth/passkeys");
});
