import { fireEvent, render, screen, within } from "@testing-library/preact";
import { expect, test } from "vitest";
import { MeContext } from "../me";
import { serve } from "../test";
import { Descriptions } from "./own";

const me = { kind: "person", id: "p", name: "Cleo", roles: ["curator"], via: "browser" };
const shown = (roles: string[]) => (
  <MeContext.Provider value={{ ...me, roles, power_bi: { state: "connected" } }}>
    <Descriptions dataset="d1" name="Net sales" what={{ measure: "Net sales" }} theirs="From Power BI" ours="Ours" version={3} />
  </MeContext.Provider>
);

// BOOK-04, BOOK-15
test("a curator writes on the version that was read, and a conflict keeps what was written", async () => {
  let conflict = true;
  const calls = serve({
    "PUT /api/v1/datasets/d1/description": () =>
      conflict
        ? { status: 409, body: { kind: "conflict", detail: "Somebody wrote meanwhile: it is at version 4.", request_id: "r-1" } }
        : { body: { dataset: "Sales", dataset_id: "d1", own_description: "Without returns", custom: [], own_version: 4 } },
  });
  render(shown(["curator"]));
  expect(screen.getByText("From Power BI")).toBeTruthy();
  expect(screen.getByText("Ours", { exact: false, selector: ".own" })).toBeTruthy();
  fireEvent.click(screen.getByRole("button", { name: "Describe Net sales" }));
  const dialog = screen.getByRole("dialog", { name: "Describe Net sales" });
  const text = within(dialog).getByRole("textbox");
  fireEvent.input(text, { target: { value: "Without returns" } });
  fireEvent.click(within(dialog).getByRole("button", { name: "Save" }));
  expect(await within(dialog).findByText(/it is at version 4/)).toBeTruthy();
  expect(text).toHaveProperty("value", "Without returns");
  conflict = false;
  fireEvent.click(within(dialog).getByRole("button", { name: "Save" }));
  expect(await screen.findByText("Without returns", { exact: false, selector: ".own" })).toBeTruthy();
  expect(calls[0]?.body).toEqual({ measure: "Net sales", description: "Without returns", version: 3 });
});

test("a viewer reads both and writes none", () => {
  render(shown(["viewer"]));
  expect(screen.getByText("Ours", { exact: false, selector: ".own" })).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
});
