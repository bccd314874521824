// The calls that are protocol and not operations of the API's catalogue, so that
// the OpenAPI document does not describe them: signing in and out, and
// letting programs in.
import { request } from "./request";

export type SignInProvider = { id: string; kind: string; name: string };

export type AuthConfig = {
  providers: SignInProvider[];
  passkeys: boolean;
  dev_sign_in: boolean;
  sample_data: boolean;
};

let config: Promise<AuthConfig> | undefined;

// getAuthConfig asks once for as long as the page stands.
export function getAuthConfig(): Promise<AuthConfig> {
  config ??= request<AuthConfig>("GET", "/api/auth/config").catch((thrown: unknown) => {
    config = undefined;
    throw thrown;
  });
  return config;
}

export const devSignIn = (email: string) => request<void>("POST", "/api/auth/dev-sign-in", { email });

export const signOut = () => request<void>("POST", "/api/auth/sign-out");

// signInAddress is where the browser goes to sign in through a provider and come
// back to next.
export const signInAddress = ({ id, kind }: SignInProvider, next: string) =>
  `/api/auth/sign-in/${encodeURIComponent(kind)}?${new URLSearchParams({ ...(id !== kind && { provider: id }), next })}`;

export type Consent = {
  person: { email: string; name: string };
  client_id: string;
  claimed_name: string; // what the client says of itself: never shown alone
  registered: { kind: "registered" | "metadata_document" | "built_in"; at: string };
  vouched_host?: string; // the host that serves the client's metadata document
  redirect: { scheme: string; host: string; loopback: boolean }; // no host: an app's own scheme
  can: string[];
  cannot: string[];
};

// The query is the signed authorization request: it travels back as it came.
export const getConsent = (query: string) => request<Consent>("GET", `/api/v1/oauth/consent?${query}`);

export const answerConsent = (query: string, allow: boolean) =>
  request<{ redirect_to: string }>("POST", "/api/v1/oauth/consent", { query, allow });

export type DeviceRequest = {
  person: { email: string; name: string };
  client_id: string;
  started_at: string;
  started_from: string; // the address that the program asked from
  expires_at: string;
  can: string[];
  cannot: string[];
};

// Looking a code up claims nothing; the answer does.
export const getDevice = (userCode: string) =>
  request<DeviceRequest>("GET", `/api/v1/oauth/device?user_code=${encodeURIComponent(userCode)}`);

export const answerDevice = (userCode: string, allow: boolean) =>
  request<{ allowed: boolean }>("POST", "/api/v1/oauth/device", { user_code: userCode, allow });
