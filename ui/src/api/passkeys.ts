// Passkeys: the api's calls, and what the browser's authenticator does between them.
import { Problem } from "./problem";
import { request } from "./request";

export type Passkey = { id: string; name: string; synced: boolean; created_at: string; last_used_at?: string };

// hasPasskeys says whether this browser can read the api's options and write its
// answer by itself, as browsers do since 2025.
export const hasPasskeys = () =>
  typeof PublicKeyCredential === "function" &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function" &&
  typeof PublicKeyCredential.parseCreationOptionsFromJSON === "function";

export const listPasskeys = () => request<{ items: Passkey[] }>("GET", "/api/auth/passkeys");

export const removePasskey = (id: string) => request<void>("DELETE", `/api/auth/passkeys?id=${encodeURIComponent(id)}`);

export async function addPasskey(name: string): Promise<Passkey> {
  const { publicKey } = await request<{ publicKey: PublicKeyCredentialCreationOptionsJSON }>("POST", "/api/auth/passkeys/options");
  const credential = await answered(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) }),
  );
  return request<Passkey>("POST", "/api/auth/passkeys", { name, credential });
}

export async function signInByPasskey(): Promise<void> {
  const { publicKey } = await request<{ publicKey: PublicKeyCredentialRequestOptionsJSON }>("POST", "/api/auth/sign-in/passkey/options");
  const credential = await answered(() =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) }),
  );
  return request<void>("POST", "/api/auth/sign-in/passkey", credential);
}

// answered gives what an authenticator answered, as the api reads it. Browsers do
// not tell a person who said no from an authenticator that found nothing.
async function answered(ask: () => Promise<Credential | null>): Promise<unknown> {
  let credential: Credential | null = null;
  let code = "passkey_cancelled";
  try {
    credential = await ask();
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === "InvalidStateError") code = "passkey_exists";
  }
  if (credential instanceof PublicKeyCredential) return credential.toJSON();
  throw new Problem({ status: 0, kind: "invalid", code, detail: "The browser used no passkey." });
}
