// The operations of the API that the screens call, through a client whose types
// are generated from the API's own document (npm run generate).
import createClient from "openapi-fetch";
import { problemOf, unreachable } from "./problem";
import type { components, paths } from "./schema";

type Schemas = components["schemas"];

export type AuditItem = Schemas["AdminAuditItem"];
export type Column = Schemas["ColumnItem"];
export type Dataset = Schemas["DatasetGetOutput"];
export type DatasetPart = Schemas["DatasetPart"];
export type Decision = Schemas["PiiDecideOutput"];
export type Grant = Schemas["MeGrantItem"];
export type Hit = Schemas["SearchItem"];
export type ListedDataset = Schemas["DatasetItem"];
export type Me = Schemas["MeWhoamiOutput"];
export type Measure = Schemas["MeasureItem"];
export type QueryResult = Schemas["QueryExecuteOutput"];
export type RoleAssignment = Schemas["RoleItem"];
export type RoleChange = Schemas["RoleOutcome"];
export type Rule = Schemas["PiiListedRule"];
export type Suggestion = Schemas["PiiSuggestionItem"];
export type SwitchedDataset = Schemas["DatasetSwitchItem"];
export type Written = Schemas["DatasetWriteOutput"];
export type SignInWay = Schemas["ProviderItem"];
export type Table = Schemas["DatasetTable"];

export type Cell = QueryResult["rows"][number][number];

// A Page is some of the items of a list, and how to get the others.
export type Page<T> = { items: T[]; total: number; pii_hidden?: number; next_cursor?: string; note?: string };

const client = createClient<paths>({ baseUrl: location.origin, fetch: (request) => fetch(request) });

// answer gives what a call gave, or throws its Problem.
async function answer<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call.catch(() => {
    throw unreachable();
  });
  if (!response.ok || data === undefined) throw problemOf(response.status, error, response.headers.get("X-Request-Id"));
  return data;
}

export const getMe = () => answer(client.GET("/api/v1/me"));

export const listMyGrants = (cursor?: string) => answer(client.GET("/api/v1/me/grants", { params: { query: { ...(cursor && { cursor }) } } }));

export const endMyGrant = (grant: string) => answer(client.DELETE("/api/v1/me/grants/{grant}", { params: { path: { grant } } }));

// connectAddress is where the browser goes to connect a Power BI account and come
// back to next.
export const connectAddress = (next: string) => `/api/v1/me/connection/start?next=${encodeURIComponent(next)}`;

export const search = (query: string) => answer(client.GET("/api/v1/search", { params: { query: { query, limit: 50 } } }));

export const listDatasets = (cursor?: string) => answer(client.GET("/api/v1/datasets", { params: { query: { ...(cursor && { cursor }) } } }));

export const getDataset = (dataset: string) => answer(client.GET("/api/v1/datasets/{dataset}", { params: { path: { dataset } } }));

export type Description = { description: string; version: number; table?: string; column?: string; measure?: string };

export const writeDescription = (dataset: string, body: Description) =>
  answer(client.PUT("/api/v1/datasets/{dataset}/description", { params: { path: { dataset } }, body }));

export const listAllDatasets = (words: string, off: boolean, cursor?: string) =>
  answer(client.GET("/api/v1/admin/datasets", { params: { query: { ...(words && { words }), ...(off && { off }), ...(cursor && { cursor }) } } }));

export const switchDataset = (dataset: string, off: boolean) => {
  const params = { path: { dataset } };
  return off
    ? answer(client.POST("/api/v1/admin/datasets/{dataset}/off", { params }))
    : answer(client.POST("/api/v1/admin/datasets/{dataset}/on", { params }));
};

export const listMeasures = (dataset: string, words: string, cursor?: string) =>
  answer(client.GET("/api/v1/measures", { params: { query: { dataset, ...(words && { words }), ...(cursor && { cursor }) } } }));

export const listColumns = (dataset: string, table: string, words: string, cursor?: string) =>
  answer(client.GET("/api/v1/columns", { params: { query: { dataset, ...(table && { table }), ...(words && { words }), ...(cursor && { cursor }) } } }));

export const runQuery = (dataset: string, dax: string, purpose: string) =>
  answer(client.POST("/api/v1/queries", { body: { dataset, dax, purpose } }));

export type RuleInput = { reference: string; measure: boolean; note: string };

export const listRules = (cursor?: string) => answer(client.GET("/api/v1/admin/pii/rules", { params: { query: { ...(cursor && { cursor }) } } }));

export const markPII = (body: RuleInput) => answer(client.POST("/api/v1/admin/pii/mark", { body }));

export const clearPII = (body: RuleInput) => answer(client.POST("/api/v1/admin/pii/clear", { body }));

export const removeRule = (reference: string, measure: boolean) =>
  answer(client.POST("/api/v1/admin/pii/remove", { body: { reference, measure } }));

export const restoreRule = (reference: string, measure: boolean, version: number) =>
  answer(client.POST("/api/v1/admin/pii/restore", { body: { reference, measure, version } }));

export const suggestPII = (cursor?: string) =>
  answer(client.GET("/api/v1/admin/pii/suggestions", { params: { query: { ...(cursor && { cursor }) } } }));

export const outcomes = ["allow", "deny", "error"] as const;

export type Outcome = (typeof outcomes)[number];

export type AuditFilter = { principal: string; action: string; outcome: Outcome | undefined };

export const listAudit = ({ principal, action, outcome }: AuditFilter, cursor?: string) =>
  answer(
    client.GET("/api/v1/admin/audit", {
      params: {
        query: {
          ...(principal && { principal }),
          ...(action && { action }),
          ...(outcome && { outcome }),
          ...(cursor && { cursor }),
        },
      },
    }),
  );

// Of everybody, or the effective ones of the person with an email.
export const listRoles = (effective: string, cursor?: string) =>
  answer(client.GET("/api/v1/admin/roles", { params: { query: { ...(effective && { effective }), ...(cursor && { cursor }) } } }));

export type RoleDraft = {
  role: string;
  custom?: boolean;
  person?: string;
  domain?: string;
  group?: string;
  provider?: string;
  everybody?: boolean;
};

export const assignRole = (body: RoleDraft) => answer(client.POST("/api/v1/admin/roles", { body }));

export const revokeRole = (assignment: string) =>
  answer(client.DELETE("/api/v1/admin/roles/{assignment}", { params: { path: { assignment } } }));

export const listSignInProviders = (cursor?: string) =>
  answer(client.GET("/api/v1/admin/sign-in/providers", { params: { query: { ...(cursor && { cursor }) } } }));

export type SignInDraft = { kind: "google" | "oidc"; name: string; id?: string; issuer?: string; client_id: string; client_secret: string };

export const testSignInProvider = (body: SignInDraft) => answer(client.POST("/api/v1/admin/sign-in/tests", { body }));

export const addSignInProvider = (test: string) => answer(client.POST("/api/v1/admin/sign-in/providers", { body: { test } }));

export const removeSignInProvider = (provider: string) =>
  answer(client.DELETE("/api/v1/admin/sign-in/providers/{provider}", { params: { path: { provider } } }));
