import { fireEvent, render, screen } from "@testing-library/preact";
import { beforeEach, expect, test, vi } from "vitest";
import { serve, visit, withPasskeys } from "../test";

const microsoft = { id: "microsoft", kind: "microsoft", name: "Microsoft" };
const assign = vi.fn();

// The configuration is asked for once for each page: each test is a page of its own.
async function open(config: object, finish: { status?: number; body: unknown } = { status: 204, body: null }, address = "/sign-in?next=%2Fme") {
  vi.resetModules();
  visit(address);
  const calls = serve({
    "GET /api/auth/config": { body: { providers: [microsoft], passkeys: true, dev_sign_in: false, sample_data: false, ...config } },
    "POST /api/auth/sign-in/passkey/options": { body: { publicKey: { challenge: "c1" } } },
    "POST /api/auth/sign-in/passkey": finish,
  });
  const { SignInPage } = await import("./page");
  render(<SignInPage />);
  await screen.findByRole("link", { name: "Sign in with Microsoft" });
  return calls;
}

const button = () => screen.queryByRole("button", { name: "Sign in with a passkey" });

function press() {
  const found = button();
  if (!found) throw new Error("there is no button");
  fireEvent.click(found);
}

beforeEach(() => {
  assign.mockReset();
  vi.spyOn(location, "assign").mockImplementation(assign);
});

// SIGNIN-01
test("a passkey signs in and goes on to where the person was", async () => {
  const browser = withPasskeys(() => ({ id: "k1" }));
  const calls = await open({});
  press();
  await expect.poll(() => assign.mock.calls).toEqual([["/me"]]);
  expect(browser.asked).toEqual([{ challenge: "c1" }]);
  expect(calls.slice(1).map((c) => [c.path, c.body])).toEqual([
    ["/api/auth/sign-in/passkey/options", ""],
    ["/api/auth/sign-in/passkey", { id: "k1" }],
  ]);
});

// NET-10
test("the button is there only where the api and the browser have passkeys", async () => {
  await open({});
  expect(button(), "a browser without").toBeNull();
});

test("the button is not there where the deployment has no passkeys", async () => {
  withPasskeys(() => ({}));
  await open({ passkeys: false });
  expect(button()).toBeNull();
});

// SIGNIN-36
test.each([
  ["passkey_refused", /not known here, or it did not prove/],
  ["passkey_count", /may have been copied/],
  ["sign_in_due", /more than 7 days/],
  ["no_role", /Nobody has given you access here yet/],
  ["dev_sign_in_account", /made by the development sign-in/],
  ["expired", /took too long/],
  ["unavailable", /did not answer/],
  ["<b>call 555-0100</b>", /The sign-in did not work/],
])("the code %s has a sentence of its own, and the answer's words are not shown", async (code, sentence) => {
  withPasskeys(() => ({ id: "k1" }));
  await open({}, { status: 403, body: { code, detail: "Call 555-0100", error_description: "Call 555-0100" } });
  press();
  expect((await screen.findByRole("alert")).textContent).toMatch(sentence);
  expect(document.body.textContent).not.toContain("555-0100");
  expect(assign).not.toHaveBeenCalled();
  expect(button()?.hasAttribute("disabled")).toBe(false);
});

test("too many attempts are said to be so", async () => {
  withPasskeys(() => ({ id: "k1" }));
  await open({}, { status: 429, body: { kind: "rate_limited", detail: "Too many." } });
  press();
  expect((await screen.findByRole("alert")).textContent).toMatch(/Wait a minute/);
});

test("a person who says no is told what they can do, and nothing is sent", async () => {
  withPasskeys(() => new DOMException("private words of the browser", "NotAllowedError"));
  const calls = await open({});
  press();
  expect((await screen.findByRole("alert")).textContent).toMatch(/No passkey was used/);
  expect(calls.map((c) => c.path)).not.toContain("/api/auth/sign-in/passkey");
});
