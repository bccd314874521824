import { useState } from "preact/hooks";
import { signOut } from "../api/auth";
import { getMe, type Me } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ConnectLink } from "../ui/connectlink";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { ProblemNotice } from "../ui/notice";
import { Time } from "../ui/time";
import { useLoad } from "../useload";
import { Grants } from "./grants";
import { Passkeys } from "./passkeys";

export function AccountPage() {
  const me = useLoad(getMe, "me");
  return (
    <>
      <PageHeading title="You" />
      <Loaded load={me} noPermission="No role reaches you any more. Ask an admin of this deployment for one.">
        {(m) => (
          <>
            <dl class="facts">
              <dt>Name</dt>
              <dd>{m.name || "Not given"}</dd>
              <dt>Email</dt>
              <dd>{m.email || "Not given"}</dd>
              <dt>Roles</dt>
              <dd>{m.roles.join(", ") || "None"}</dd>
            </dl>
            <Connection connection={m.power_bi} />
          </>
        )}
      </Loaded>
      <Grants />
      <Passkeys />
      <SignOut />
    </>
  );
}

function Connection({ connection }: { connection: Me["power_bi"] }) {
  const connected = connection.state === "connected";
  return (
    <section class="panel" aria-labelledby="connection">
      <h2 id="connection">Power BI</h2>
      {connected ? (
        <p>
          Your queries run as <strong>{connection.account ?? "the connected account"}</strong>
          {connection.connected_at && (
            <>
              , connected <Time at={connection.connected_at} />
            </>
          )}
          .
        </p>
      ) : (
        <>
          <p>
            {connection.state === "needs_reconnect"
              ? "Microsoft no longer accepts the connection. Connect again to run queries."
              : "No Power BI account is connected. Queries run under its rights, so connect one to run them."}
          </p>
          <ConnectLink />
        </>
      )}
    </section>
  );
}

function SignOut() {
  const [problem, setProblem] = useState<Problem>();
  const leave = () =>
    signOut().then(
      () => location.assign("/sign-in"),
      (thrown: unknown) => setProblem(asProblem(thrown)),
    );
  return (
    <>
      {problem && <ProblemNotice problem={problem} />}
      <p>
        <button type="button" onClick={leave}>
          Sign out
        </button>
      </p>
    </>
  );
}
