import { useState } from "preact/hooks";
import { devSignIn } from "../api/auth";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";

// DevSignIn signs in by an email alone. The api opens it only in development.
export function DevSignIn({ next }: { next: string }) {
  const [email, setEmail] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await devSignIn(email.trim());
      location.assign(next); // a load, since next may be the api's own
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setBusy(false);
    }
  };

  return (
    <form class="dev-sign-in stack" onSubmit={submit}>
      <h2>Development sign-in</h2>
      <p class="quiet">Open on this deployment because it runs on invented data. No password is asked.</p>
      <label>
        Email
        <input
          type="email"
          name="email"
          required
          autocomplete="email"
          value={email}
          onInput={(event) => setEmail(event.currentTarget.value)}
        />
      </label>
      {problem && <ProblemNotice problem={problem} />}
      <button type="submit" disabled={busy}>
        {busy ? "Signing in…" : "Sign in with this email"}
      </button>
    </form>
  );
}
