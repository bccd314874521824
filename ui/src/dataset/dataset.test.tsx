import { fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import { serve, visit } from "../test";
import { cellText } from "./cell";
import { measureQuery, measureReference } from "./dax";
import { hiddenSentence } from "./hidden";
import { DatasetPage } from "./page";

const sales = {
  id: "d1",
  name: "Sales",
  workspace: "Retail",
  has_row_level_security: true,
  workspace_id: "w1",
  apps: [],
  seen_at: "2026-11-30T11:00:00Z",
  columns: 2,
  measures: 1,
  pii_hidden: 2,
  relationships_read: true,
  parts: [
    { part: "relationships", state: "read", at: "2026-11-30T10:00:00Z" },
    {
      part: "calculation_items",
      state: "refused",
      at: "2026-11-30T10:00:00Z",
      reason: "Power BI refused to list the calculation items.",
      effect: "What calculation items do is not checked.",
    },
  ],
  tables: [{ name: "Customer", columns: 2, measures: 0 }],
};
const netSales = { table: "Sales", name: "Net sales", dataset: "Sales", dataset_id: "d1", dax: "SUM ( Sales[Amount] )" };
const refusal = {
  kind: "pii_refused",
  detail: "The query reads Customer[Customer] and the table Customer: leave them out, or ask for pii_reader.",
  request_id: "r-77",
};

function open(query: { status?: number; body: unknown }) {
  visit("/datasets/d1");
  const calls = serve({
    "GET /api/v1/datasets/d1": { body: sales },
    "GET /api/v1/measures": { body: { items: [netSales], total: 1 } },
    "POST /api/v1/queries": query,
  });
  render(<DatasetPage params={{ id: "d1" }} />);
  return calls;
}

test("a refused query shows its sentence and the request id, and no rows", async () => {
  const calls = open({ status: 403, body: refusal });
  const box = await screen.findByRole("textbox", { name: "Query" });
  fireEvent.input(box, { target: { value: "EVALUATE Customer" } });
  fireEvent.click(screen.getByRole("button", { name: "Run" }));
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("Customer[Customer] and the table Customer");
  expect(within(alert).getByText("r-77")).toBeTruthy();
  expect(within(alert).getByRole("button", { name: "Copy the request id" })).toBeTruthy();
  expect(screen.queryByRole("table")).toBeNull();
  expect(calls.at(-1)).toEqual({
    method: "POST",
    path: "/api/v1/queries",
    body: { dataset: "d1", dax: "EVALUATE Customer", purpose: "" },
  });
});

test("what is not known of the model is told with its cause and what follows", async () => {
  open({ body: {} });
  expect((await screen.findByText("Relationships")).nextElementSibling?.textContent).toContain("Read");
  const items = screen.getByText("Calculation items").nextElementSibling?.textContent;
  expect(items).toContain("Refused by Power BI");
  expect(items).toContain("Power BI refused to list the calculation items.");
  expect(items).toContain("What calculation items do is not checked.");
});

test("without a connection the refusal leads to connecting one, and back to the dataset", async () => {
  open({ status: 409, body: { kind: "connection_required", detail: "No Power BI account of yours is connected." } });
  fireEvent.input(await screen.findByRole("textbox", { name: "Query" }), { target: { value: "EVALUATE Sales" } });
  fireEvent.click(screen.getByRole("button", { name: "Run" }));
  const link = await screen.findByRole("link", { name: "Connect Power BI" });
  expect(link.getAttribute("href")).toBe("/api/v1/me/connection/start?next=%2Fdatasets%2Fd1");
});

test("rows come as a table, with whose rights they came under", async () => {
  open({
    body: {
      dataset: "Sales",
      dataset_id: "d1",
      columns: [
        { name: "Customer[Region]", type: "string" },
        { name: "[Net sales]", type: "decimal" },
      ],
      rows: [
        ["North", 12],
        [null, 0],
      ],
      row_count: 2,
      data_at: "unknown",
      ran_as: "viewer@sample.example",
      row_level_security: "yes",
      dax: "",
    },
  });
  fireEvent.click(await screen.findByText("Net sales"));
  fireEvent.click(screen.getByRole("button", { name: "Ask for Net sales" }));
  fireEvent.click(screen.getByRole("button", { name: "Run" }));
  const rows = within(await screen.findByRole("table")).getAllByRole("row");
  expect(rows.map((r) => [...r.children].map((c) => c.textContent))).toEqual([
    ["Customer[Region]", "[Net sales]"],
    ["North", "12"],
    ["", "0"],
  ]);
  expect(screen.getByText(/as viewer@sample.example/)).toBeTruthy();
});

test("the page says how much is hidden, and not what", async () => {
  open({ body: {} });
  expect(await screen.findByText("2 items are hidden here because they are personal data.")).toBeTruthy();
  expect(hiddenSentence(1)).toBe("1 item is hidden here because it is personal data.");
});

test("a name is quoted as DAX wants it", () => {
  expect(measureReference("Net ]sales")).toBe("[Net ]]sales]");
  expect(measureQuery('Size 15"')).toBe('EVALUATE\nROW ( "Size 15""", [Size 15"] )');
});

// UI-07
test("cells are shown in the reader's form, dates as they stand in the model", () => {
  expect(cellText(0.1 + 0.2, "double")).toBe((0.3).toLocaleString());
  expect(cellText(1234567.5, "decimal")).toBe((1234567.5).toLocaleString());
  expect(cellText("9007199254740993", "int64")).toBe("9007199254740993");
  expect(cellText(null, "string")).toBe("");
  expect(cellText(false, "boolean")).toBe("False");
  expect(cellText("2024-01-31T00:00:00", "dateTime")).toBe(
    new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" }).format(Date.UTC(2024, 0, 31)),
  );
  expect(cellText("not a date", "dateTime")).toBe("not a date");
});
