import { useState } from "preact/hooks";
import { signInByPasskey } from "../api/passkeys";
import { asProblem } from "../api/problem";
import { errorSentence } from "./errors";

// PasskeySignIn asks for any passkey of this site: who it is of, the passkey says.
export function PasskeySignIn({ next }: { next: string }) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();

  const signIn = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      await signInByPasskey();
      location.assign(next); // a load, since next may be the api's own
    } catch (thrown) {
      const { code, kind } = asProblem(thrown);
      setFailure(errorSentence(code ?? kind));
      setBusy(false);
    }
  };

  return (
    <div class="stack">
      <button type="button" class="wide" disabled={busy} onClick={() => void signIn()}>
        {busy ? "Waiting for your passkey…" : "Sign in with a passkey"}
      </button>
      {failure && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
    </div>
  );
}
