import type { components } from "./schema";

// A Problem is an answer of the API that is not the one asked for, told in the
// API's own words (problem details, RFC 9457), or the lack of any answer.
export class Problem extends Error {
  readonly status: number; // 0 where no answer came
  readonly kind: string;
  readonly code: string | undefined; // of a sign-in and its like: the screen has the sentence
  readonly next: string | undefined; // what to do about it
  readonly requestId: string | undefined;
  readonly upstream: string | undefined; // Power BI's own sentence

  constructor(p: {
    status: number;
    kind: string;
    detail: string;
    code?: string | undefined;
    next?: string | undefined;
    requestId?: string | undefined;
    upstream?: string | undefined;
  }) {
    super(p.detail);
    this.name = "Problem";
    this.status = p.status;
    this.kind = p.kind;
    this.code = p.code;
    this.next = p.next;
    this.requestId = p.requestId;
    this.upstream = p.upstream;
  }
}

export const unreachable = () =>
  new Problem({
    status: 0,
    kind: "unavailable",
    detail: "The server did not answer.",
    next: "Check your connection, then try again.",
  });

// problemOf reads the body of an answer that reported failure. A proxy in front
// may have written it, so nothing about its shape is taken for granted.
export function problemOf(status: number, body: unknown, requestId: string | null): Problem {
  const field = (name: keyof components["schemas"]["RestapiProblem"] | "code"): string | undefined => {
    if (typeof body !== "object" || body === null) return undefined;
    const value: unknown = Reflect.get(body, name);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  return new Problem({
    status,
    kind: field("kind") ?? (status === 401 ? "unauthenticated" : status === 403 ? "forbidden" : "internal"),
    detail: field("detail") ?? field("title") ?? "The server could not answer this.",
    code: field("code"),
    next: field("next"),
    requestId: field("request_id") ?? requestId ?? undefined,
    upstream: field("power_bi_says"),
  });
}

// asProblem turns whatever a call threw into a Problem.
export function asProblem(thrown: unknown): Problem {
  return thrown instanceof Problem ? thrown : unreachable();
}
