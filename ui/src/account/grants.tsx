import { useRef, useState } from "preact/hooks";
import { endMyGrant, listMyGrants, type Grant } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { ProblemNotice } from "../ui/notice";
import { Time } from "../ui/time";
import { usePages } from "../usepages";

// Grants are the clients that the person let act for them.
export function Grants() {
  const own = usePages(listMyGrants, "grants");
  const [said, setSaid] = useState("");
  const ended = () => {
    setSaid("It has ended: its next request is refused.");
    own.first.reload();
  };
  return (
    <section class="panel" aria-labelledby="grants">
      <h2 id="grants">Clients that act for you</h2>
      <p>Each can do what you allowed until you end it here.</p>
      <Loaded load={own.first} noPermission="You see them once a role reaches you again; until then they can do nothing.">
        {({ total }) => (
          <>
            {total === 0 ? (
              <p class="quiet">You let no client act for you.</p>
            ) : (
              <ul class="plain rows">
                {own.items.map((grant) => (
                  <GrantRow key={grant.id} grant={grant} ended={ended} />
                ))}
              </ul>
            )}
            <More pages={own} total={total} />
          </>
        )}
      </Loaded>
      <p role="status" class={said ? "notice good" : "visually-hidden"}>
        {said}
      </p>
    </section>
  );
}

function GrantRow({ grant, ended }: { grant: Grant; ended: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<Problem>();
  const who = `grant-${grant.id}`;

  const end = async () => {
    try {
      await endMyGrant(grant.id);
      dialog.current?.close();
      ended();
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
  };

  return (
    <li class="rule">
      <div>
        <p id={who}>
          <Who grant={grant} />
        </p>
        <p class="quiet">
          Allowed <Time at={grant.created_at} />, last used <Time at={grant.last_used_at} />
        </p>
      </div>
      <p class="tools">
        <button type="button" id={`${who}-end`} class="small" aria-labelledby={`${who}-end ${who}`} onClick={() => dialog.current?.showModal()}>
          End
        </button>
      </p>
      <dialog ref={dialog} aria-labelledby={`${who}-title`}>
        <h2 id={`${who}-title`}>End what you allowed this client?</h2>
        <p>
          <Who grant={grant} />
        </p>
        <p>Its next request is refused. To come back it has to ask you again.</p>
        {problem && <ProblemNotice problem={problem} />}
        <p class="tools">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="primary" onClick={() => void end()}>
            End it
          </button>
        </p>
      </dialog>
    </li>
  );
}

// Who says which client it is. What it calls itself never stands without what
// vouches for it, or that nothing does.
function Who({ grant }: { grant: Grant }) {
  if (grant.registered === "built_in") return <strong>The pbmb command line</strong>;
  const host = grant.registered === "metadata_document" && URL.canParse(grant.client_id) ? new URL(grant.client_id).host : "";
  const claim = (
    <>
      calls itself “<bdi>{grant.claimed_name || "nothing"}</bdi>”
    </>
  );
  return host ? (
    <>
      <strong>{host}</strong> vouches for this client, which {claim}.
    </>
  ) : (
    <>
      A client that {claim}. Nothing vouches for that name.
    </>
  );
}
