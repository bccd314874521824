import { fireEvent, render, screen, waitFor, within } from "@testing-library/preact";
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
  columns: 1,
  measures: 0,
  datasets: 2,
};
const contactList = { ...rule, reference: "Sales[Contact list]", kind: "measure", note: "" };

const suggestion = {
  reference: "Customer[Phone]",
  kind: "column",
  confidence: "high",
  reason: "name",
  why: "Its name says that it is a telephone number.",
  datasets: 1,
};

const sent = (call: Call, name: string) => String(Reflect.get(Object(call.body), name));

// A list that changes as the calls say, as the server's would.
function open(address: string) {
  visit(address);
  let rules = [rule, contactList];
  const decide = (marked: boolean) => (call: Call) => {
    const decided = { ...rule, reference: sent(call, "reference"), pii: marked, note: sent(call, "note") };
    rules = [decided, ...rules.filter((r) => r.reference !== decided.reference)];
    return { body: { ...decided, saved: true, before: "none", version: 7 } };
  };
  const calls = serve({
    "GET /api/v1/admin/pii/rules": () => ({ body: { items: rules, total: rules.length } }),
    "POST /api/v1/admin/pii/mark": decide(true),
    "POST /api/v1/admin/pii/clear": decide(false),
    "POST /api/v1/admin/pii/remove": (call) => {
      rules = rules.filter((r) => r.reference !== sent(call, "reference"));
      return { body: { reference: sent(call, "reference"), kind: "column", before: "marked", after: "none", version: 8 } };
    },
    "POST /api/v1/admin/pii/restore": (call) => {
      rules = rules.filter((r) => r.reference !== sent(call, "reference"));
      return { body: { reference: sent(call, "reference"), kind: "column", before: "marked", after: "none", version: 9 } };
    },
    "GET /api/v1/admin/pii/suggestions": () => {
      const items = [suggestion].filter((s) => rules.every((r) => r.reference !== s.reference));
      return { body: { items, total: items.length } };
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
  fireEvent.click(screen.getByRole("button", { name: /^Clear: not personal/ }));
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
  const d = { ...rule, saved: true, before: "none", columns: 1, measures: 0, datasets: 1 };
  expect(decisionSentence(d)).toBe("Customer[Customer] is now marked as personal data. It matches 1 column in 1 dataset.");
  expect(decisionSentence({ ...d, pii: false, columns: 0, measures: 2, datasets: 2 })).toBe(
    "Customer[Customer] is now cleared. It matches 2 measures in 2 datasets.",
  );
  expect(decisionSentence({ ...d, columns: 0, datasets: 0 })).toBe("Customer[Customer] is now marked as personal data.");
});

// PII-44, PII-47
test("undoes a decision that was just made", async () => {
  const calls = open("/admin/pii?reference=Customer%5BEmail%5D&kind=column");
  fireEvent.click(await screen.findByRole("button", { name: "Mark as personal data" }));
  fireEvent.click(await screen.findByRole("button", { name: "Undo" }));
  await waitFor(() => expect(screen.queryByText("Customer[Email]")).toBeNull());
  expect(posts(calls).at(-1)).toEqual(["/api/v1/admin/pii/restore", { reference: "Customer[Email]", measure: false, version: 7 }]);
});

// PII-52, PII-53
test("shows a suggestion with its reason until somebody decides on it", async () => {
  const calls = open("/admin/pii");
  expect(await screen.findByText("Its name says that it is a telephone number.")).toBeTruthy();
  expect(posts(calls)).toEqual([]);
  fireEvent.click(screen.getByRole("button", { name: "Clear Customer[Phone]" }));
  await screen.findByText(/Nothing that you reach looks like personal data/);
  expect(posts(calls)).toEqual([["/api/v1/admin/pii/clear", { reference: "Customer[Phone]", measure: false, note: "" }]]);
});
