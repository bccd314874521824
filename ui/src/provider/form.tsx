import { useState } from "preact/hooks";
import { testSignInProvider } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";

const callback = (kind: string) => `${location.origin}/api/auth/callback/${kind}`;

// ProviderForm sends the admin through a provider that is to be added.
export function ProviderForm() {
  const [google, setGoogle] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    setBusy(true);
    setProblem(undefined);
    try {
      const { address } = await testSignInProvider({
        kind: google ? "google" : "oidc",
        name: google ? "Google" : text("name"),
        ...(!google && { id: text("id"), issuer: text("issuer") }),
        client_id: text("client_id"),
        client_secret: text("client_secret"),
      });
      location.assign(address);
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setBusy(false);
    }
  };

  return (
    <form class="panel stack" aria-labelledby="new-provider" onSubmit={submit} autocomplete="off">
      <h2 id="new-provider">Add a provider</h2>
      <label>
        Kind
        <select value={google ? "google" : "oidc"} onChange={(event) => setGoogle(event.currentTarget.value === "google")}>
          <option value="oidc">OpenID Connect</option>
          <option value="google">Google</option>
        </select>
      </label>
      <p class="quiet">
        Register this deployment there as a web application with the redirect address{" "}
        <code>{callback(google ? "google" : "oidc")}</code>.
      </p>
      {!google && (
        <>
          <label>
            Name <span class="quiet">on the sign-in page</span>
            <input type="text" name="name" required maxLength={60} />
          </label>
          <label>
            Id <span class="quiet">a word for good, such as acme: its people and groups are known by it</span>
            <input
              type="text"
              name="id"
              required
              maxLength={30}
              pattern="[a-z][a-z0-9\-]*"
              title="Small letters, digits and hyphens, beginning with a letter"
              spellcheck={false}
            />
          </label>
          <label>
            Issuer <span class="quiet">exactly as its ID tokens name it</span>
            <input type="url" name="issuer" required maxLength={500} placeholder="https://login.example.com" spellcheck={false} />
          </label>
        </>
      )}
      <label>
        Client id
        <input type="text" name="client_id" required maxLength={300} spellcheck={false} />
      </label>
      <label>
        Client secret <span class="quiet">nobody can read it back</span>
        <input type="password" name="client_secret" required maxLength={4096} autocomplete="new-password" />
      </label>
      {problem && <ProblemNotice problem={problem} />}
      <p class="tools">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? "Going there…" : "Test by signing in"}
        </button>
      </p>
    </form>
  );
}
