import type { Cell } from "../api/operations";

const numbers = new Set(["int64", "double", "decimal"]);

export const isNumber = (type: string) => numbers.has(type);

const number = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 15 });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" });

// cellText shows a cell in the reader's own form. A blank is empty, which is not
// the same as the text of zero letters, but looks like it in Power BI too.
export function cellText(cell: Cell, type: string): string {
  if (cell === null) return "";
  if (typeof cell === "number") return number.format(cell);
  if (typeof cell === "boolean") return cell ? "True" : "False";
  return type === "dateTime" ? dateText(cell) : cell;
}

// Dates of a model have no zone: they are read and shown as they stand.
function dateText(text: string): string {
  const date = new Date(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`);
  if (Number.isNaN(date.getTime())) return text;
  return date.getTime() % 86_400_000 === 0 ? day.format(date) : moment.format(date);
}
