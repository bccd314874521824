// The operations of the API that the screens call.
import { request } from "./request";

export type Page<T> = { items: T[]; total: number; pii_hidden?: number; next_cursor?: string; note?: string };

export type ListedDataset = {
  id: string;
  name: string;
  workspace: string;
  description?: string;
  endorsement?: string;
  has_row_level_security: boolean;
  schema_error?: string;
};

export type Table = { name: string; description?: string; hidden?: boolean; columns: number; measures: number };

export type Dataset = ListedDataset & {
  apps: string[];
  configured_by?: string;
  seen_at: string;
  columns: number;
  measures: number;
  pii_hidden?: number;
  relationships_read: boolean;
  tables: Table[];
  note?: string;
};

export type Column = {
  table: string;
  name: string;
  type: string;
  description?: string;
  dax?: string;
  hidden?: boolean;
  pii?: boolean;
};

export type Measure = {
  table: string;
  name: string;
  description?: string;
  dax?: string;
  format?: string;
  hidden?: boolean;
  pii?: boolean;
};

export type HitKind = "measure" | "column" | "table" | "dataset";

export type Hit = {
  kind: string;
  name: string;
  table?: string;
  dataset: string;
  dataset_id: string;
  workspace: string;
  description?: string;
};

// address adds the given parameters to a path, leaving out those without a value.
function address(path: string, parameters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

const get = <T>(path: string, parameters: Record<string, string | number | undefined> = {}) =>
  request<T>("GET", address(`/api/v1${path}`, parameters));

export const search = (query: string) => get<{ items: Hit[]; note?: string }>("/search", { query, limit: 50 });

export const listDatasets = (cursor?: string) => get<Page<ListedDataset>>("/datasets", { cursor });

export const getDataset = (id: string) => get<Dataset>(`/datasets/${encodeURIComponent(id)}`);

export const listMeasures = (dataset: string, words: string, cursor?: string) =>
  get<Page<Measure>>("/measures", { dataset, words, cursor });

export const listColumns = (dataset: string, table: string, words: string, cursor?: string) =>
  get<Page<Column>>("/columns", { dataset, table, words, cursor });

export type Me = {
  id: string;
  email?: string;
  name?: string;
  roles: string[];
  power_bi: { state: string; account?: string; connected_at?: string };
};

export const getMe = () => get<Me>("/me");

// connectAddress is where the browser goes to connect a Power BI account and come
// back to next.
export const connectAddress = (next: string) => `/api/v1/me/connection/start?next=${encodeURIComponent(next)}`;

export type Cell = string | number | boolean | null;

export type QueryResult = {
  columns: { name: string; type: string }[];
  rows: Cell[][];
  row_count: number;
  truncated?: string;
  data_at: string; // a time, or unknown
  ran_as: string;
  row_level_security: string;
  note?: string;
};

export const runQuery = (dataset: string, dax: string, purpose: string) =>
  request<QueryResult>("POST", "/api/v1/queries", { dataset, dax, purpose });

export type Rule = {
  reference: string;
  kind: string; // table, column or measure
  pii: boolean; // false where it was reviewed and cleared
  note?: string;
  changed_by: string;
  changed_at: string;
  via: string;
};

export type Decision = Rule & { columns: number; measures: number; datasets: number; near?: string[]; notice?: string };

export type RuleInput = { reference: string; measure: boolean; note: string };

export const listRules = (cursor?: string) => get<Page<Rule>>("/admin/pii/rules", { cursor });

export const markPII = (input: RuleInput) => request<Decision>("POST", "/api/v1/admin/pii/mark", input);

export const clearPII = (input: RuleInput) => request<Decision>("POST", "/api/v1/admin/pii/clear", input);

export const removeRule = (reference: string, measure: boolean) =>
  request<{ removed: string }>("POST", "/api/v1/admin/pii/remove", { reference, measure });

export type AuditItem = {
  at: string;
  principal: string;
  principal_id: string;
  via: string;
  client_id?: string;
  address?: string;
  request_id?: string;
  action: string;
  outcome: string; // allow, deny or error
  element?: string;
  reason?: string;
  detail?: string;
};

export type AuditFilter = { principal: string; action: string; outcome: string };

export const listAudit = (filter: AuditFilter, cursor?: string) => get<Page<AuditItem>>("/admin/audit", { ...filter, cursor });
