import { useEffect, useRef, useState } from "preact/hooks";
import { clearPII, markPII, restoreRule, type Decision } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";
import { decisionSentence } from "./sentence";

export type Draft = { reference: string; measure: boolean; note: string };

type Props = { draft: Draft; setDraft: (draft: Draft) => void; decided: () => void };

// RuleForm records a decision on one name: personal data, or reviewed and not.
export function RuleForm({ draft, setDraft, decided }: Props) {
  const [busy, setBusy] = useState(false);
  const [decision, setDecision] = useState<Decision>();
  const [problem, setProblem] = useState<Problem>();
  const reference = useRef<HTMLInputElement>(null);

  // A rule that is to be changed, or a nearer name, arrives from outside the form.
  useEffect(() => {
    if (draft.reference !== "" && document.activeElement !== reference.current) reference.current?.focus();
  }, [draft.reference]);

  const decide = async (marked: boolean) => {
    setBusy(true);
    setProblem(undefined);
    setDecision(undefined);
    try {
      setDecision(await (marked ? markPII : clearPII)(draft));
      setDraft({ reference: "", measure: false, note: "" });
      decided();
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
    setBusy(false);
  };

  return (
    <form
      class="panel stack"
      aria-labelledby="decide"
      onSubmit={(event) => {
        event.preventDefault();
        void decide(!(event.submitter instanceof HTMLButtonElement && event.submitter.value === "clear"));
      }}
    >
      <h2 id="decide">Decide on a name</h2>
      <label>
        Name <span class="quiet">as Table, Table[Column] or Table[Measure]</span>
        <input
          ref={reference}
          type="text"
          required
          maxLength={500}
          placeholder="Customer[Customer]"
          spellcheck={false}
          autocomplete="off"
          value={draft.reference}
          onInput={(event) => setDraft({ ...draft, reference: event.currentTarget.value })}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={draft.measure}
          onChange={(event) => setDraft({ ...draft, measure: event.currentTarget.checked })}
        />{" "}
        It is a measure
      </label>
      <label>
        Note <span class="quiet">(why, for those who come later)</span>
        <input
          type="text"
          maxLength={1000}
          value={draft.note}
          onInput={(event) => setDraft({ ...draft, note: event.currentTarget.value })}
        />
      </label>
      <p class="tools">
        <button type="submit" class="primary" value="mark" disabled={busy}>
          Mark as personal data
        </button>
        <button type="submit" value="clear" disabled={busy}>
          Clear: not personal
        </button>
      </p>
      {problem && <ProblemNotice problem={problem} />}
      {decision && (
        <Decided
          decision={decision}
          take={(name) => setDraft({ ...draft, reference: name })}
          undo={async () => {
            try {
              await restoreRule(decision.reference, decision.kind === "measure", decision.version ?? 0);
              setDecision(undefined);
              decided();
            } catch (thrown) {
              setProblem(asProblem(thrown));
            }
          }}
        />
      )}
    </form>
  );
}

function Decided({ decision, take, undo }: { decision: Decision; take: (reference: string) => void; undo: () => Promise<void> }) {
  return (
    <div class={decision.datasets > 0 ? "notice good" : "notice warn"} role="status">
      <p class="tools">
        {decisionSentence(decision)}
        <button type="button" class="small" onClick={() => void undo()}>
          Undo
        </button>
      </p>
      {decision.notice && <p>{decision.notice}</p>}
      {decision.near && decision.near.length > 0 && (
        <p class="tools">
          Did you mean{" "}
          {decision.near.map((name) => (
            <button key={name} type="button" class="small" onClick={() => take(name)}>
              {name}
            </button>
          ))}
        </p>
      )}
    </div>
  );
}
