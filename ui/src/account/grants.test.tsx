import { fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { serve, visit, type Call } from "../test";

const at = { created_at: "2026-11-30T12:00:00Z", last_used_at: "2026-11-30T13:00:00Z", scopes: ["mcp"] };
const cli = { ...at, id: "g1", client_id: "pbmb-cli", claimed_name: "pbmb", registered: "built_in" };
const vouched = { ...at, id: "g2", client_id: "https://agents.example/client.json", claimed_name: "Agent", registered: "metadata_document" };
const unknown = { ...at, id: "g3", client_id: "client_x", claimed_name: "Claude", registered: "registered" };

async function open(answers: Parameters<typeof serve>[0] = {}) {
  vi.resetModules();
  visit("/me");
  let own = [cli, vouched, unknown];
  const calls = serve({
    "GET /api/auth/config": { body: { providers: [], passkeys: false, dev_sign_in: false, sample_data: false } },
    "GET /api/v1/me": { status: 403, body: { kind: "forbidden", detail: "No role." } },
    "GET /api/v1/me/grants": () => ({ body: { items: own, total: own.length } }),
    ...Object.fromEntries(
      own.map((g) => [
        `DELETE /api/v1/me/grants/${g.id}`,
        () => {
          own = own.filter((o) => o.id !== g.id);
          return { body: { ended: g.id } };
        },
      ]),
    ),
    ...answers,
  });
  const { AccountPage } = await import("./page");
  render(<AccountPage />);
  return { calls, list: within(await screen.findByRole("region", { name: "Clients that act for you" })) };
}

// OAUTH-54: what a client calls itself stands in an element of its own, beside what
// vouches for it.
test("says which clients act for the person", async () => {
  const { list } = await open();
  const rows = await list.findAllByRole("listitem");
  expect(rows.map((r) => r.querySelector("p")?.textContent)).toEqual([
    "The pbmb command line",
    "agents.example vouches for this client, which calls itself “Agent”.",
    "A client that calls itself “Claude”. Nothing vouches for that name.",
  ]);
  expect(rows.map((r) => r.querySelector("bdi")?.textContent)).toEqual([undefined, "Agent", "Claude"]);
});

// OAUTH-16
test("ends one of them", async () => {
  const { calls, list } = await open();
  const row = (await list.findAllByRole("listitem"))[2];
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function () {
    this.open = false;
  };
  fireEvent.click(within(row!).getByRole("button", { name: /^End A client that calls itself/ }));
  fireEvent.click(within(row!).getByRole("button", { name: "End it" }));
  expect(await screen.findByText(/It has ended/)).toBeTruthy();
  await expect.poll(() => list.queryAllByRole("listitem").length).toBe(2);
  expect(calls.filter((c: Call) => c.method === "DELETE").map((c) => c.path)).toEqual(["/api/v1/me/grants/g3"]);
});
