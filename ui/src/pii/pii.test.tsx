import { fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import { serve, visit, type Call } from "../test";
import { PIIPage } from "./page";
import { decisionSentence } from "./sentence";

const rule = {
  reference: "Customer[Customer]",
  kind: "column",
  pii: true,
  note: "Customer names",
  changed_by: "Ada",
  changed_at: "2026-11-30T12:00:00Z",
  via: "cli",
  version: 1,
};
const contactList = { ...rule, reference: "Sales[Contact list]", kind: "measure", note: "" };

const sent = (call: Call, name: string) => String(Reflect.get(Object(call.body), name));

// A list that changes as the calls say, as the server's would.
function open(address: string) {
  visit(address);
  let rules = [rule, contactList];
  const decide = (marked: boolean) => (call: Call) => {
    const decided = { ...rule, reference: sent(call, "reference"), pii: marked, note: sent(call, "note") };
    rules = [decided, ...rules.filter((r) => r.reference !== decided.reference)];
    return { body: { ...decided, columns: 1, measures: 0, datasets: 2 } };
  };
  const calls = serve({
    "GET /api/v1/admin/pii/rules": () => ({ body: { items: rules, total: rules.length } }),
    "POST /api/v1/admin/pii/mark": decide(true),
    "POST /api/v1/admin/pii/clear": decide(false),
    "POST /api/v1/admin/pii/remove": (call) => {
      rules = rules.filter((r) => r.reference !== sent(call, "reference"));
      return { body: { removed: sent(call, "reference") } };
    },
  });
  render(<PIIPage />);
  return calls;
}

const posts = (calls: Call[]) => calls.filter((c) => c.method === "POST").map((c) => [c.path, c.body]);

// UI-11
test("marks a name that a dataset's row brought along, with a note", async () => {
  const calls = open("/admin/pii?reference=Customer%5BEmail%5D&kind=column");
  fireEvent.input(await screen.findByLabelText(/^Note/), { target: { value: "Reaches people" } });
  fireEvent.click(screen.getByRole("button", { name: "Mark as personal data" }));
  expect(await screen.findByText(/is now marked as personal data. It matches 1 column in 2 datasets/)).toBeTruthy();
  expect(posts(calls)).toEqual([
    ["/api/v1/admin/pii/mark", { reference: "Customer[Email]", measure: false, note: "Reaches people" }],
  ]);
  expect(await screen.findByText("Customer[Email]")).toBeTruthy();
});

// UI-11
test("clears a measure's rule from its row", async () => {
  const calls = open("/admin/pii");
  fireEvent.click(await screen.findByRole("button", { name: "Change Sales[Contact list]" }));
  fireEvent.click(screen.getByRole("button", { name: /^Clear/ }));
  await screen.findByText(/is now cleared/);
  expect(posts(calls)).toEqual([
    ["/api/v1/admin/pii/clear", { reference: "Sales[Contact list]", measure: true, note: "" }],
  ]);
});

// UI-11
test("removes a rule only after asking", async () => {
  const calls = open("/admin/pii");
  fireEvent.click(await screen.findByRole("button", { name: "Remove Customer[Customer]" }));
  expect(posts(calls)).toEqual([]);
  const dialog = screen.getByRole("dialog", { name: "Remove the rule on Customer[Customer]" });
  fireEvent.click(within(dialog).getByRole("button", { name: "Remove the rule" }));
  await expect.poll(() => screen.queryByText("Customer[Customer]")).toBeNull();
  expect(posts(calls)).toEqual([["/api/v1/admin/pii/remove", { reference: "Customer[Customer]", measure: false }]]);
});

// UI-06
test("someone who may not sees whom to ask, and no form", async () => {
  visit("/admin/pii");
  serve({ "GET /api/v1/admin/pii/rules": { status: 403, body: { kind: "forbidden", detail: "You may not." } } });
  render(<PIIPage />);
  expect(await screen.findByText(/Ask one of this deployment/)).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Mark as personal data" })).toBeNull();
});

test("a decision's reach is counted in words", () => {
  const d = { ...rule, columns: 1, measures: 0, datasets: 1 };
  expect(decisionSentence(d)).toBe("Customer[Customer] is now marked as personal data. It matches 1 column in 1 dataset.");
  expect(decisionSentence({ ...d, pii: false, columns: 0, measures: 2, datasets: 2 })).toBe(
    "Customer[Customer] is now cleared. It matches 2 measures in 2 datasets.",
  );
  expect(decisionSentence({ ...d, columns: 0, datasets: 0 })).toBe("Customer[Customer] is now marked as personal data.");
});
