import { useRef, useState } from "preact/hooks";
import { getAuthConfig } from "../api/auth";
import { addPasskey, hasPasskeys, listPasskeys, removePasskey, type Passkey } from "../api/passkeys";
import { asProblem, type Problem } from "../api/problem";
import { Loaded } from "../ui/loaded";
import { ProblemNotice } from "../ui/notice";
import { Time } from "../ui/time";
import { useLoad } from "../useload";
import { addSentence } from "./passkeyerrors";

// Passkeys are there where the deployment has them, for whoever has a session.
export function Passkeys() {
  const config = useLoad(getAuthConfig, "config");
  return config.state === "done" && config.data.passkeys ? <OwnPasskeys /> : null;
}

function OwnPasskeys() {
  const own = useLoad(listPasskeys, "passkeys");
  const [said, setSaid] = useState("");
  const changed = (what: string) => {
    setSaid(what);
    own.reload();
  };
  return (
    <section class="panel" aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <p>
        A passkey signs you in by your fingerprint, your face or the PIN of your device. It works for 7 days after you last signed in
        another way.
      </p>
      <Loaded load={own}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="quiet">You have no passkey yet.</p>
          ) : (
            <ul class="plain rows">
              {items.map((passkey) => (
                <PasskeyRow key={passkey.id} passkey={passkey} removed={() => changed(`“${passkey.name}” is removed.`)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <p role="status" class={said ? "notice good" : "visually-hidden"}>
        {said}
      </p>
      {hasPasskeys() ? (
        <AddPasskey added={({ name }) => changed(`“${name}” is added.`)} />
      ) : (
        <p class="quiet">This browser cannot add passkeys. Open this page in a newer one to add one.</p>
      )}
    </section>
  );
}

function AddPasskey({ added }: { added: (passkey: Passkey) => void }) {
  const [name, setName] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      const passkey = await addPasskey(name.trim());
      setName("");
      added(passkey);
    } catch (thrown) {
      const { code, kind } = asProblem(thrown);
      setFailure(addSentence(code ?? kind));
    }
    setBusy(false);
  };

  return (
    <form class="stack find" onSubmit={submit}>
      <label>
        Name of the new passkey <span class="quiet">so that you know it again, such as “Work laptop”</span>
        <input
          name="passkey"
          required
          maxLength={60}
          pattern=".*\S.*"
          autocomplete="off"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      {failure && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      <button type="submit" disabled={busy}>
        {busy ? "Waiting for your device…" : "Add a passkey"}
      </button>
    </form>
  );
}

function PasskeyRow({ passkey, removed }: { passkey: Passkey; removed: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<Problem>();

  const remove = async () => {
    try {
      await removePasskey(passkey.id);
      dialog.current?.close();
      removed();
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
  };

  return (
    <li class="rule">
      <div>
        <p>
          <strong>{passkey.name}</strong>
          {passkey.synced && <span class="tag">synced</span>}
        </p>
        <p class="quiet">
          Added <Time at={passkey.created_at} />,{" "}
          {passkey.last_used_at ? (
            <>
              last used <Time at={passkey.last_used_at} />
            </>
          ) : (
            "not used yet"
          )}
        </p>
      </div>
      <p class="tools">
        <button type="button" class="small" onClick={() => dialog.current?.showModal()} aria-label={`Remove ${passkey.name}`}>
          Remove
        </button>
      </p>
      <dialog ref={dialog} aria-label={`Remove the passkey ${passkey.name}`}>
        <h2>Remove the passkey “{passkey.name}”?</h2>
        <p>It signs nobody in any more. Your device may go on offering it: delete it there too.</p>
        {problem && <ProblemNotice problem={problem} />}
        <p class="tools">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="primary" onClick={() => void remove()}>
            Remove the passkey
          </button>
        </p>
      </dialog>
    </li>
  );
}
