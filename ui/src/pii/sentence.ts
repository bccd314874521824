import type { Decision } from "../api/operations";

const count = (n: number, one: string, many: string) => `${n.toLocaleString()} ${n === 1 ? one : many}`;

// decisionSentence says what was decided and how far it reaches.
export function decisionSentence(d: Decision): string {
  const decided = d.pii ? "is now marked as personal data" : "is now cleared";
  if (d.datasets === 0) return `${d.reference} ${decided}.`;
  const matched = [
    d.columns > 0 || d.measures === 0 ? count(d.columns, "column", "columns") : "",
    d.measures > 0 ? count(d.measures, "measure", "measures") : "",
  ].filter((part) => part !== "");
  return `${d.reference} ${decided}. It matches ${matched.join(" and ")} in ${count(d.datasets, "dataset", "datasets")}.`;
}
