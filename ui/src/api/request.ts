import { problemOf, unreachable } from "./problem";

// request sends one call to the deployment's own origin and gives back the JSON
// of a success; anything else is thrown as a Problem.
export async function request<T>(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      credentials: "same-origin",
      headers: {
        Accept: "application/json, application/problem+json",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw unreachable();
  }
  if (!response.ok) {
    const problem: unknown = await response.json().catch(() => undefined);
    throw problemOf(response.status, problem, response.headers.get("X-Request-Id"));
  }
  // The server's word is taken for the shape of a success. A 204 has no body.
  return response.json().catch(() => undefined);
}
