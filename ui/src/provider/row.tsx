import { useRef, useState } from "preact/hooks";
import { removeSignInProvider, type SignInWay } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";
import { Time } from "../ui/time";

// ProviderRow is one way to sign in, with the way to take it away.
export function ProviderRow({ provider, removed }: { provider: SignInWay; removed: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<Problem>();

  const remove = async () => {
    try {
      await removeSignInProvider(provider.id);
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
          <strong>{provider.name}</strong> <span class="quiet">{provider.id}</span>
        </p>
        <p class="quiet">{provider.issuer}</p>
        <p class="quiet">
          {provider.fixed ? (
            "Configured by the operator"
          ) : (
            <>
              Added by {provider.added_by}, <Time at={provider.added_at ?? ""} />
              {provider.tested_as && <>, tested as {provider.tested_as}</>}
            </>
          )}
        </p>
      </div>
      {!provider.fixed && (
        <p class="tools">
          <button type="button" class="small" onClick={() => dialog.current?.showModal()} aria-label={`Remove ${provider.name}`}>
            Remove
          </button>
        </p>
      )}
      <dialog ref={dialog} aria-label={`Remove ${provider.name}`}>
        <h2>Remove {provider.name}?</h2>
        <p>
          Whoever signed in through it is signed out, and roles by a domain or group that it vouched for end at once. Its
          client secret is deleted.
        </p>
        {problem && <ProblemNotice problem={problem} />}
        <p class="tools">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="primary" onClick={() => void remove()}>
            Remove the provider
          </button>
        </p>
      </dialog>
    </li>
  );
}
