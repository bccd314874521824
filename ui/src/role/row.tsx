import { useRef, useState } from "preact/hooks";
import { revokeRole, type RoleAssignment, type RoleChange } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";
import { Time } from "../ui/time";
import { givenTo } from "./words";

// AssignmentRow is one assignment, with the way to take it away.
export function AssignmentRow({ assignment, revoked }: { assignment: RoleAssignment; revoked: (change: RoleChange) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<Problem>();
  const { id, role, kind, claimed, created_at, created_by } = assignment;
  const what = `${role} from ${givenTo(assignment)}`;

  const revoke = async () => {
    if (!id) return;
    setProblem(undefined);
    try {
      const change = await revokeRole(id);
      dialog.current?.close();
      revoked(change);
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
  };

  return (
    <li class="rule">
      <div>
        <p>
          <strong>{givenTo(assignment)}</strong> <span class="tag">{role}</span>
        </p>
        <p class="quiet">
          {kind === "person" && !claimed && "Nobody has signed in with this address yet. "}
          {created_by && `Given by ${created_by}, `}
          {created_at && <Time at={created_at} />}
        </p>
      </div>
      <p class="tools">
        <button type="button" class="small" onClick={() => dialog.current?.showModal()} aria-label={`Take ${what}`}>
          Take away
        </button>
      </p>
      <dialog ref={dialog} aria-label={`Take ${what}`}>
        <h2>Take {what}?</h2>
        <p>It ends with their next request, wherever they are signed in. What else gives them a role stays.</p>
        {problem && <ProblemNotice problem={problem} />}
        <p class="tools">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="primary" onClick={() => void revoke()}>
            Take the role away
          </button>
        </p>
      </dialog>
    </li>
  );
}
