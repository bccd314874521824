// What tests of screens share: answers of the API, and the address of the page.
import { cleanup, configure } from "@testing-library/preact";
import { afterEach, vi } from "vitest";

// A busy machine is no failure.
configure({ asyncUtilTimeout: 10_000 });

type Answer = { status?: number; body: unknown };
export type Call = { method: string; path: string; body: unknown };

// serve answers the page's requests from a table of "METHOD /path" without query,
// and gives back the list of those that came.
export function serve(answers: Record<string, Answer | ((call: Call) => Answer)>): Call[] {
  const calls: Call[] = [];
  vi.stubGlobal("fetch", async (input: string | Request, init?: RequestInit) => {
    const request = new Request(typeof input === "string" ? new URL(input, location.origin) : input, init);
    const url = new URL(request.url);
    const text = await request.text();
    const call = { method: request.method, path: url.pathname + url.search, body: text && JSON.parse(text) };
    calls.push(call);
    const answer = answers[`${request.method} ${url.pathname}`];
    if (!answer) return Response.json({ kind: "not_found", detail: "Not found." }, { status: 404 });
    const { status = 200, body } = typeof answer === "function" ? answer(call) : answer;
    return status === 204 ? new Response(null, { status }) : Response.json(body, { status });
  });
  return calls;
}

export const visit = (address: string) => history.replaceState(null, "", address);

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

// withPasskeys gives the page a browser that has passkeys, of which answer is the
// next, or what the browser says instead.
export function withPasskeys(answer: () => object | Error): { asked: unknown[] } {
  const asked: unknown[] = [];
  class PublicKeyCredential {
    static parseRequestOptionsFromJSON = (o: object) => o;
    static parseCreationOptionsFromJSON = (o: object) => o;
    constructor(readonly answer: object) {}
    toJSON = () => this.answer;
  }
  const ask = async (options: { publicKey: unknown }) => {
    asked.push(options.publicKey);
    const given = answer();
    if (given instanceof Error) throw given;
    return new PublicKeyCredential(given);
  };
  vi.stubGlobal("PublicKeyCredential", PublicKeyCredential);
  vi.stubGlobal("navigator", Object.create(navigator, { credentials: { value: { get: ask, create: ask } } }));
  return { asked };
}
