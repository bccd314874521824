import { useRef, useState } from "preact/hooks";
import { removeRule, type Rule } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";
import { Time } from "../ui/time";
import { matchSentence } from "./sentence";

// RuleRow is one decision, with the ways to change it.
export function RuleRow({ rule, change, removed }: { rule: Rule; change: () => void; removed: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<Problem>();

  const remove = async () => {
    try {
      await removeRule(rule.reference, rule.kind === "measure");
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
          <strong>{rule.reference}</strong> <span class="quiet">{rule.kind}</span>
          {rule.pii ? <span class="tag bad">personal data</span> : <span class="tag good">{rule.released ? "released" : "cleared"}</span>}
        </p>
        {rule.note && <p>{rule.note}</p>}
        <p>{matchSentence(rule)}</p>
        <p class="quiet">
          {rule.changed_by}, <Time at={rule.changed_at} />, by {rule.via}
        </p>
      </div>
      <p class="tools">
        <button type="button" class="small" onClick={change} aria-label={`Change ${rule.reference}`}>
          Change
        </button>
        <button type="button" class="small" onClick={() => dialog.current?.showModal()} aria-label={`Remove ${rule.reference}`}>
          Remove
        </button>
      </p>
      <dialog ref={dialog} aria-label={`Remove the rule on ${rule.reference}`}>
        <h2>Remove the rule on {rule.reference}?</h2>
        <p>
          {rule.pii
            ? "People without pii_reader see it again from their next request on, unless its table is marked."
            : "It follows its table's rule again, where there is one."}
        </p>
        {problem && <ProblemNotice problem={problem} />}
        <p class="tools">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="primary" onClick={() => void remove()}>
            Remove the rule
          </button>
        </p>
      </dialog>
    </li>
  );
}
