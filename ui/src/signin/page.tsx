import { getAuthConfig, signInAddress } from "../api/auth";
import { hasPasskeys } from "../api/passkeys";
import { safeNext } from "../next";
import { useAddress } from "../router";
import { CardPage } from "../ui/card";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { useLoad } from "../useload";
import { DevSignIn } from "./dev";
import { errorSentence } from "./errors";
import { PasskeySignIn } from "./passkey";

export function SignInPage() {
  const { query } = useAddress();
  const next = safeNext(query.get("next"));
  const failure = errorSentence(query.get("error"));
  const config = useLoad(getAuthConfig, "config");
  return (
    <CardPage>
      <PageHeading title="Sign in" />
      <p class="quiet">The metrics of your Power BI tenant, for people and their agents.</p>
      {failure && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      <Loaded load={config}>
        {({ providers, passkeys, dev_sign_in }) => (
          <>
            {providers.length === 0 && !dev_sign_in && (
              <p class="notice">No way to sign in is set up yet. Ask an admin of this deployment.</p>
            )}
            {providers.length > 0 && (
              <ul class="plain stack">
                {providers.map((provider, place) => (
                  <li key={provider.id}>
                    <a class={place === 0 ? "button primary wide" : "button wide"} href={signInAddress(provider, next)}>
                      Sign in with {provider.name}
                    </a>
                  </li>
                ))}
              </ul>
            )}
            {passkeys && hasPasskeys() && <PasskeySignIn next={next} />}
            {dev_sign_in && <DevSignIn next={next} />}
          </>
        )}
      </Loaded>
    </CardPage>
  );
}
