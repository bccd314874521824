import { fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import { serve, visit } from "../test";
import { SwitchPage } from "./page";

const sales = { id: "d1", name: "Sales", tables: 1, columns: 70, measures: 1071, off: false };
const off = { ...sales, off: true, version: 1, changed_at: "2026-11-30T12:00:00Z", changed_by: "ada@sample.example", via: "browser" };

// BOOK-03
test("a dataset is switched off after a question, and on again at once", async () => {
  visit("/admin/datasets");
  const calls = serve({
    "GET /api/v1/admin/datasets": { body: { items: [sales], total: 1 } },
    "POST /api/v1/admin/datasets/d1/off": { body: off },
    "POST /api/v1/admin/datasets/d1/on": { body: { ...off, off: false, version: 2 } },
  });
  render(<SwitchPage />);
  expect(await screen.findByText("1 table, 70 columns, 1,071 measures")).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Switch Sales off" }));
  const dialog = await screen.findByRole("dialog", { name: "Switch Sales off" });
  fireEvent.click(within(dialog).getByRole("button", { name: "Switch it off" }));
  expect(await screen.findByText(/Switched off by ada@sample.example/)).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Switch Sales on" }));
  expect(await screen.findByText(/Switched on by ada@sample.example/)).toBeTruthy();
  expect(calls.filter((c) => c.method === "POST").map((c) => c.path)).toEqual([
    "/api/v1/admin/datasets/d1/off",
    "/api/v1/admin/datasets/d1/on",
  ]);
});

test("whoever may not is told whom to ask", async () => {
  visit("/admin/datasets");
  serve({ "GET /api/v1/admin/datasets": { status: 403, body: { kind: "forbidden", detail: "You may not manage_datasets on admin." } } });
  render(<SwitchPage />);
  expect(await screen.findByText(/is for admins/)).toBeTruthy();
});
