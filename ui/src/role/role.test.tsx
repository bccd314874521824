import { fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { serve, visit } from "../test";
import { RolePage } from "./page";

const ada = { id: "a-1", role: "curator", kind: "person", subject: "ada@sample.example", created_at: "2026-11-30T12:00:00Z", created_by: "Mira" };
const group = { ...ada, id: "a-2", role: "admin", kind: "group", subject: "g-1", provider: "acme" };
const changed = { ...ada, roles_before: ["viewer"], roles_after: ["curator"], reaches: 1, effect: "The default role viewer no longer applies.", warnings: [] };

function open(answers: Parameters<typeof serve>[0] = {}) {
  visit("/admin/roles");
  const calls = serve({
    "GET /api/v1/admin/roles": (call) =>
      call.path.includes("effective")
        ? { body: { items: [ada, { role: "viewer", kind: "default", subject: "access.default_role" }], total: 2, note: "Two are known." } }
        : { body: { items: [ada, group], total: 2 } },
    "POST /api/v1/admin/roles": { body: changed },
    "DELETE /api/v1/admin/roles/a-1": { body: { ...changed, roles_before: ["curator"], roles_after: ["viewer"], warnings: ["Mind this."] } },
    ...answers,
  });
  render(<RolePage />);
  return calls;
}

const sent = (calls: ReturnType<typeof open>, method: string) => calls.filter((c) => c.method === method);

// ROLES-34
test("a role is given to a person, and the answer says what became of them", async () => {
  const calls = open();
  fireEvent.change(await screen.findByLabelText("Role"), { target: { value: "curator" } });
  fireEvent.input(screen.getByLabelText(/^Email it waits/), { target: { value: "ada@sample.example" } });
  fireEvent.click(screen.getByRole("button", { name: "Give the role" }));
  expect(await screen.findByText("Before: viewer. From now on: curator.")).toBeTruthy();
  expect(screen.getByText(/The default role viewer no longer applies/)).toBeTruthy();
  expect(sent(calls, "POST")).toEqual([{ method: "POST", path: "/api/v1/admin/roles", body: { role: "curator", person: "ada@sample.example" } }]);
  await vi.waitFor(() => expect(sent(calls, "GET").length).toBe(2));
});

test.each([
  ["viewer", "domain", { Domain: "sample.example" }, { role: "viewer", domain: "sample.example" }],
  ["admin", "group", { "Group id": "g-1", Provider: "acme" }, { role: "admin", group: "g-1", provider: "acme" }],
  ["another", "everybody", { "Name of the role": "metric_steward" }, { role: "metric_steward", custom: true, everybody: true }],
])("%s is given to a %s", async (role, target, fields, body) => {
  const calls = open();
  fireEvent.change(await screen.findByLabelText("Role"), { target: { value: role } });
  fireEvent.change(screen.getByLabelText("To"), { target: { value: target } });
  for (const [label, value] of Object.entries(fields)) fireEvent.input(await screen.findByLabelText(new RegExp(`^${label}`)), { target: { value } });
  fireEvent.click(screen.getByRole("button", { name: "Give the role" }));
  await screen.findByRole("status");
  expect(sent(calls, "POST")[0]?.body).toEqual(body);
});

// ROLES-24
test("admin and pii_reader are offered for people and groups alone", async () => {
  open();
  for (const role of ["admin", "pii_reader"]) {
    fireEvent.change(await screen.findByLabelText("Role"), { target: { value: "viewer" } });
    fireEvent.change(screen.getByLabelText("To"), { target: { value: "domain" } });
    fireEvent.change(screen.getByLabelText("Role"), { target: { value: role } });
    const to = screen.getByLabelText("To");
    expect(within(to).getAllByRole("option").map((o) => o.textContent)).toEqual(["A person", "A group"]);
    expect(to).toHaveProperty("value", "person");
  }
});

test("a role is taken away after a question, and its warning stands there", async () => {
  const calls = open();
  fireEvent.click(await screen.findByRole("button", { name: "Take curator from ada@sample.example" }));
  expect(sent(calls, "DELETE")).toEqual([]);
  fireEvent.click(within(screen.getByRole("dialog", { name: "Take curator from ada@sample.example" })).getByRole("button", { name: "Take the role away" }));
  expect(await screen.findByText("Mind this.")).toBeTruthy();
  expect(sent(calls, "DELETE").map((c) => c.path)).toEqual(["/api/v1/admin/roles/a-1"]);
});

// ROLES-25
test("the last admin stays, and the dialog says why", async () => {
  open({ "DELETE /api/v1/admin/roles/a-1": { status: 409, body: { kind: "conflict", detail: "This is the last admin.", next: "Make another one." } } });
  fireEvent.click(await screen.findByRole("button", { name: "Take curator from ada@sample.example" }));
  const dialog = within(screen.getByRole("dialog", { name: "Take curator from ada@sample.example" }));
  fireEvent.click(dialog.getByRole("button", { name: "Take the role away" }));
  expect(await dialog.findByText(/This is the last admin/)).toBeTruthy();
});

// ROLES-36
test("the effective roles of a person have their sources", async () => {
  const calls = open();
  fireEvent.input(await screen.findByLabelText("Email of a person"), { target: { value: "ada@sample.example" } });
  fireEvent.click(screen.getByRole("button", { name: "Look" }));
  const list = within(await screen.findByRole("list", { name: "Roles of ada@sample.example" }));
  expect(list.getAllByRole("listitem").map((r) => r.textContent)).toEqual([
    "curator by an assignment of their own, ada@sample.example",
    "viewer by the default role (setting access.default_role)",
  ]);
  expect(screen.getByText("Two are known.")).toBeTruthy();
  expect(calls.at(-1)?.path).toBe("/api/v1/admin/roles?effective=ada%40sample.example");
});
