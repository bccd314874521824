import { render, screen } from "@testing-library/preact";
import { beforeEach, expect, test, vi } from "vitest";
import { serve, visit } from "../test";

const microsoft = { id: "microsoft", kind: "microsoft", name: "Microsoft" };

// The configuration is asked for once for each page: each test is a page of its own.
async function open(address: string, config: object) {
  vi.resetModules();
  visit(address);
  const calls = serve({
    "GET /api/auth/config": { body: { providers: [microsoft], dev_sign_in: false, sample_data: false, ...config } },
    "POST /api/auth/dev-sign-in": { status: 204, body: null },
  });
  const { SignInPage } = await import("./page");
  render(<SignInPage />);
  await screen.findByRole("link", { name: "Sign in with Microsoft" });
  return calls;
}

beforeEach(() => visit("/sign-in"));

// SIGNIN-36
test.each([
  ["a known code", "no_role", /Nobody has given you access here yet/],
  ["an unknown code", "<b>call 555-0100</b>", /The sign-in did not work/],
  ["a name that every object has", "constructor", /The sign-in did not work/],
])("%s shows its own sentence and nothing of the link", async (_, code, sentence) => {
  const hostile = "Call 555-0100 and read us your password";
  await open(`/sign-in?error=${encodeURIComponent(code)}&error_description=${encodeURIComponent(hostile)}`, {});
  expect(screen.getByRole("alert").textContent).toMatch(sentence);
  expect(document.body.textContent).not.toContain("555-0100");
});

test("without an error there is no alert", async () => {
  await open("/sign-in", {});
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a provider's link carries a safe next", async () => {
  await open("/sign-in?next=%2Fadmin%2Fpii", {});
  expect(screen.getByRole("link").getAttribute("href")).toBe("/api/auth/sign-in/microsoft?next=%2Fadmin%2Fpii");
});

// NET-10, SIGNIN-31
test("each provider has a link to the start of its kind", async () => {
  await open("/sign-in", {
    providers: [microsoft, { id: "google", kind: "google", name: "Google" }, { id: "acme", kind: "oidc", name: "Acme" }],
  });
  expect(screen.getAllByRole("link").map((a) => [a.textContent, a.getAttribute("href")])).toEqual([
    ["Sign in with Microsoft", "/api/auth/sign-in/microsoft?next=%2F"],
    ["Sign in with Google", "/api/auth/sign-in/google?next=%2F"],
    ["Sign in with Acme", "/api/auth/sign-in/oidc?provider=acme&next=%2F"],
  ]);
});

test("a provider's link never carries another origin", async () => {
  await open("/sign-in?next=%2F%2Fevil.example", {});
  expect(screen.getByRole("link").getAttribute("href")).toBe("/api/auth/sign-in/microsoft?next=%2F");
});

// NET-10
test("the development sign-in is there only when the api says that it is open", async () => {
  await open("/sign-in", {});
  expect(screen.queryByLabelText("Email")).toBeNull();
});

// NET-09
test("the page asks for the sign-in choices and for nothing else", async () => {
  const calls = await open("/sign-in", { dev_sign_in: true });
  expect(screen.getByLabelText("Email")).toBeTruthy();
  expect(calls.map((c) => c.path)).toEqual(["/api/auth/config"]);
});
