import { useState } from "preact/hooks";
import { answerConsent, getConsent, type Consent } from "../api/auth";
import { asProblem, Problem } from "../api/problem";
import { Answers } from "../ui/answers";
import { CardPage } from "../ui/card";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { ProblemNotice } from "../ui/notice";
import { Powers } from "../ui/powers";
import { useLoad } from "../useload";
import { ClientFacts, ClientName } from "./client";
import { safeRedirect } from "./redirect";

export function ConsentPage() {
  const [query] = useState(() => location.search.slice(1));
  const consent = useLoad(() => getConsent(query), query);
  return (
    <CardPage>
      <PageHeading title="Allow access?" />
      <Loaded load={consent}>{(c) => <Question consent={c} query={query} />}</Loaded>
    </CardPage>
  );
}

function Question({ consent, query }: { consent: Consent; query: string }) {
  const [answer, setAnswer] = useState<"open" | "sending" | "allowed" | "denied">("open");
  const [problem, setProblem] = useState<Problem>();

  const send = async (allow: boolean) => {
    setAnswer("sending");
    setProblem(undefined);
    try {
      const { redirect_to } = await answerConsent(query, allow);
      location.assign(safeRedirect(redirect_to));
      setAnswer(allow ? "allowed" : "denied");
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setAnswer("open");
    }
  };

  // An app on this device takes the answer and leaves the page standing.
  if (answer === "allowed" || answer === "denied") {
    return (
      <p class="notice" role="status">
        {answer === "allowed" ? "Allowed." : "Denied. The client got no access."} You can close this page.
      </p>
    );
  }
  return (
    <>
      <ClientName consent={consent} />
      <p>
        asks to act for you, <strong>{consent.person.name || consent.person.email}</strong>
        {consent.person.name && <span class="quiet"> ({consent.person.email})</span>}.
      </p>
      {(consent.redirect.loopback || !consent.redirect.host) && (
        <p class="notice warn">
          The answer goes to a program on this computer, and no website stands behind it. Allow only if you have just
          started it yourself.
        </p>
      )}
      <Powers can={consent.can} cannot={consent.cannot} />
      <ClientFacts consent={consent} />
      {problem && <ProblemNotice problem={problem} />}
      <Answers sending={answer === "sending"} send={send} />
    </>
  );
}
