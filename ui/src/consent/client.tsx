import type { Consent } from "../api/auth";
import { Time } from "../ui/time";

// ClientName is what the client calls itself, never without what vouches for it.
// The name is anybody's text: bdi keeps its direction from turning the words around it.
export function ClientName({ consent }: { consent: Consent }) {
  return (
    <p class="client">
      <span class="client-name">
        <bdi>{consent.claimed_name}</bdi>
      </span>
      {consent.vouched_host ? (
        <span class="vouched">
          vouched for by <strong>{consent.vouched_host}</strong>
        </span>
      ) : (
        <span class="unvouched">This is only what it calls itself. Nothing vouches for the name.</span>
      )}
    </p>
  );
}

// ClientFacts is where it came from and where the answer goes.
export function ClientFacts({ consent }: { consent: Consent }) {
  const { redirect, registered } = consent;
  return (
    <dl class="facts">
      <dt>Returns you to</dt>
      <dd>
        {redirect.host ? <strong>{redirect.host}</strong> : <>an app on this device that opens </>}
        {!redirect.host && <code>{redirect.scheme}:</code>}
      </dd>
      <dt>{registered.kind === "registered" ? "Registered itself" : "Known since"}</dt>
      <dd>
        <Time at={registered.at} />
      </dd>
      <dt>Client id</dt>
      <dd>
        <code>{consent.client_id}</code>
      </dd>
    </dl>
  );
}
