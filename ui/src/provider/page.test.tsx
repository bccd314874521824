import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test, vi } from "vitest";
import { serve, visit } from "../test";
import { ProviderPage } from "./page";

const microsoft = {
  id: "microsoft",
  kind: "microsoft",
  name: "Microsoft",
  issuer: "https://login.example/tenant/v2.0",
  client_id: "c",
  callback: "https://book.example/api/auth/callback/microsoft",
  fixed: true,
};
const acme = {
  ...microsoft,
  id: "acme",
  kind: "oidc",
  name: "Acme",
  issuer: "https://login.acme.example",
  fixed: false,
  added_by: "Mira",
  added_at: "2026-11-30T12:00:00Z",
  tested_as: "mira@sample.example",
};

function open(address: string) {
  visit(address);
  let providers = [microsoft];
  const calls = serve({
    "GET /api/v1/admin/sign-in/providers": () => ({ body: { items: providers, total: providers.length } }),
    "POST /api/v1/admin/sign-in/tests": { body: { test: "t-1", address: "https://login.acme.example/authorize?state=x" } },
    "POST /api/v1/admin/sign-in/providers": () => {
      providers = [microsoft, acme];
      return { body: acme };
    },
    "DELETE /api/v1/admin/sign-in/providers/acme": () => {
      providers = [microsoft];
      return { body: acme };
    },
  });
  render(<ProviderPage />);
  return calls;
}

// SIGNIN-09
test("a provider is tested by going there, and nothing is added by that", async () => {
  const assign = vi.spyOn(window.location, "assign").mockImplementation(() => undefined);
  const calls = open("/admin/sign-in");
  fireEvent.input(await screen.findByLabelText(/^Name/), { target: { value: "Acme" } });
  fireEvent.input(screen.getByLabelText(/^Id/), { target: { value: "acme" } });
  fireEvent.input(screen.getByLabelText(/^Issuer/), { target: { value: "https://login.acme.example" } });
  fireEvent.input(screen.getByLabelText(/^Client id/), { target: { value: "book" } });
  fireEvent.input(screen.getByLabelText(/^Client secret/), { target: { value: "hush" } });
  fireEvent.click(screen.getByRole("button", { name: "Test by signing in" }));
  await vi.waitFor(() => expect(assign).toHaveBeenCalledWith("https://login.acme.example/authorize?state=x"));
  expect(calls.filter((c) => c.method === "POST")).toEqual([
    {
      method: "POST",
      path: "/api/v1/admin/sign-in/tests",
      body: { kind: "oidc", id: "acme", name: "Acme", issuer: "https://login.acme.example", client_id: "book", client_secret: "hush" },
    },
  ]);
  assign.mockRestore();
});

// SIGNIN-09
test("after the test the provider is added by its id", async () => {
  const calls = open("/admin/sign-in?trial=t-1");
  fireEvent.click(await screen.findByRole("button", { name: "Add the provider" }));
  expect(await screen.findByText(/People can now sign in with Acme/)).toBeTruthy();
  expect(await screen.findByText("tested as mira@sample.example", { exact: false })).toBeTruthy();
  expect(calls.find((c) => c.method === "POST")?.body).toEqual({ test: "t-1" });
  expect(location.search).toBe("");
});

test.each([
  ["no_email", /email_verified must be true/],
  ["<b>call 555-0100</b>", /The test sign-in did not work/],
])("a failure with the code %s has its own sentence and nothing of the address", async (code, sentence) => {
  open(`/admin/sign-in?error=${encodeURIComponent(code)}&error_description=call%20555-0100`);
  expect((await screen.findByRole("alert")).textContent).toMatch(sentence);
  expect(document.body.textContent).not.toContain("555-0100");
  expect(screen.queryByRole("button", { name: "Add the provider" })).toBeNull();
});

test("what the operator configured cannot be removed here", async () => {
  open("/admin/sign-in");
  expect(await screen.findByText("Configured by the operator")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Remove Microsoft" })).toBeNull();
});
