import type { Hit } from "../api/operations";

const titles = new Map([
  ["dataset", "Datasets"],
  ["measure", "Measures"],
  ["table", "Tables"],
  ["column", "Columns"],
]);

export type Group = { kind: string; title: string; hits: Hit[] };

// groupByKind puts hits under a title for each kind. A kind comes where its best
// hit stands among all, so the best hit of all is at the top; within a kind the
// order stays. Kinds that this screen does not know yet come by their own name.
export function groupByKind(hits: Hit[]): Group[] {
  const groups = new Map<string, Group>();
  for (const hit of hits) {
    const group = groups.get(hit.kind);
    if (group) group.hits.push(hit);
    else groups.set(hit.kind, { kind: hit.kind, title: titles.get(hit.kind) ?? hit.kind, hits: [hit] });
  }
  return [...groups.values()];
}

export type Piece = { text: string; matched: boolean };

// pieces cuts text where the words of a query occur in it, whatever their case.
export function pieces(text: string, query: string): Piece[] {
  const words = query.split(/\s+/).filter((w) => w !== "");
  if (words.length === 0) return [{ text, matched: false }];
  // Longest first, so that "sales" wins over "sale" at the same place.
  const pattern = words
    .sort((a, b) => b.length - a.length)
    .map((w) => w.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
    .join("|");
  return text
    .split(new RegExp(`(${pattern})`, "giu"))
    .map((part, i) => ({ text: part, matched: i % 2 === 1 }))
    .filter((p) => p.text !== "");
}
