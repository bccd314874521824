import { useState } from "preact/hooks";
import { addSignInProvider, listSignInProviders, type SignInWay } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { navigate, useAddress } from "../router";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { ProblemNotice } from "../ui/notice";
import { usePages } from "../usepages";
import { ProviderForm } from "./form";
import { failureSentence } from "./outcome";
import { ProviderRow } from "./row";

// ProviderPage is where an admin looks after the ways to sign in. It is also where
// a test sign-in comes back to.
export function ProviderPage() {
  const { query } = useAddress();
  const [added, setAdded] = useState<SignInWay>();
  const pages = usePages(listSignInProviders, "providers");
  const failure = failureSentence(query.get("error"));
  const trial = query.get("trial");
  const done = (provider: SignInWay) => {
    setAdded(provider);
    navigate("/admin/sign-in", { replace: true });
    pages.first.reload();
  };
  return (
    <>
      <PageHeading title="Sign-in" />
      <p>
        People come in through these providers. Another one is added after you have signed in through it once. Who gets in
        is decided by roles, whatever the provider.
      </p>
      <Loaded load={pages.first} noPermission="Sign-in providers are for admins. Ask one of this deployment.">
        {({ total }) => (
          <>
            {failure && (
              <p class="notice bad" role="alert">
                {failure}
              </p>
            )}
            {trial && <Tested trial={trial} done={done} />}
            {added && (
              <p class="notice good" role="status">
                People can now sign in with {added.name}. Give roles to its people, domain or groups so that they get in.
              </p>
            )}
            <section aria-labelledby="providers">
              <h2 id="providers">Providers</h2>
              <ul class="plain rows">
                {pages.items.map((provider) => (
                  <ProviderRow key={provider.id} provider={provider} removed={pages.first.reload} />
                ))}
              </ul>
              <More pages={pages} total={total} />
            </section>
            <ProviderForm />
          </>
        )}
      </Loaded>
    </>
  );
}

// Tested stands after a test sign-in that succeeded.
function Tested({ trial, done }: { trial: string; done: (provider: SignInWay) => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const add = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      done(await addSignInProvider(trial));
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setBusy(false);
    }
  };
  return (
    <section class="panel stack" aria-labelledby="tested">
      <h2 id="tested">The test sign-in succeeded</h2>
      <p>Add the provider as it was tested, and people can sign in through it at once. Nobody was signed in by the test.</p>
      {problem && <ProblemNotice problem={problem} />}
      <p class="tools">
        <button type="button" class="primary" disabled={busy} onClick={() => void add()}>
          Add the provider
        </button>
        <a class="button" href="/admin/sign-in">
          Not now
        </a>
      </p>
    </section>
  );
}
