import type { Decision } from "../api/operations";

const count = (n: number, one: string, many: string) => `${n.toLocaleString()} ${n === 1 ? one : many}`;

type Match = Pick<Decision, "columns" | "measures" | "datasets">;

// matchSentence says how far a rule reaches, as far as the reader does.
export function matchSentence(m: Match): string {
  if (m.datasets === 0) return "It matches nothing that you reach.";
  const matched = [
    m.columns > 0 || m.measures === 0 ? count(m.columns, "column", "columns") : "",
    m.measures > 0 ? count(m.measures, "measure", "measures") : "",
  ].filter((part) => part !== "");
  return `It matches ${matched.join(" and ")} in ${count(m.datasets, "dataset", "datasets")}.`;
}

// decisionSentence says what was decided and how far it reaches.
export function decisionSentence(d: Decision): string {
  const decided = `${d.reference} ${d.pii ? "is now marked as personal data" : "is now cleared"}.`;
  return d.datasets === 0 ? decided : `${decided} ${matchSentence(d)}`;
}
