import { expect, test } from "vitest";
import type { Hit } from "../api/operations";
import { groupByKind, pieces } from "./groups";

const hit = (kind: string, name: string): Hit => ({ kind, name, dataset: "Sales", dataset_id: "1", workspace: "Retail" });

// UI-09
test("hits are grouped by kind, the kind of the best hit first, each in its order", () => {
  const groups = groupByKind([hit("measure", "a"), hit("column", "b"), hit("measure", "c"), hit("dataset", "d")]);
  expect(groups.map((g) => [g.title, g.hits.map((h) => h.name)])).toEqual([
    ["Measures", ["a", "c"]],
    ["Columns", ["b"]],
    ["Datasets", ["d"]],
  ]);
});

test("a kind that this screen does not know is shown by its name", () => {
  expect(groupByKind([hit("metric", "a")])[0]?.title).toBe("metric");
});

// UI-09
test.each([
  ["Net sales", "SALES", ["Net ", "[sales]"]],
  ["Net sales", "sale sales", ["Net ", "[sales]"]],
  ["Sales (net)", "(net", ["Sales ", "[(net]", ")"]],
  ["a.b", ".", ["a", "[.]", "b"]],
  ["Umsatz Größe", "grö", ["Umsatz ", "[Grö]", "ße"]],
  ["nothing", "   ", ["nothing"]],
  ["$&", "$&", ["[$&]"]],
])("in %j the words of %j are marked", (text, query, want) => {
  expect(pieces(text, query).map((p) => (p.matched ? `[${p.text}]` : p.text))).toEqual(want);
});
