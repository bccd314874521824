import { useState } from "preact/hooks";
import { clearPII, markPII, suggestPII, type Suggestion } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { Empty, ProblemNotice } from "../ui/notice";
import { usePages } from "../usepages";

type Props = {
  changes: number; // of the rules, since the page was opened
  decided: () => void;
};

// Suggestions are names that may be personal data; each waits for a decision.
export function Suggestions({ changes, decided }: Props) {
  const pages = usePages(suggestPII, `suggestions ${changes}`);
  return (
    <section aria-labelledby="suggestions">
      <Loaded load={pages.first}>
        {({ total, note }) => (
          <>
            <h2 id="suggestions">
              Suggestions <span class="count">{total.toLocaleString()}</span>
            </h2>
            <p class="quiet">
              From names, roles and DAX of the datasets that Power BI lets you reach. None is marked until somebody decides.
            </p>
            {pages.items.length === 0 ? (
              <Empty>
                <p>Nothing that you reach looks like personal data and awaits a decision.</p>
              </Empty>
            ) : (
              <ul class="plain rows">
                {pages.items.map((s) => (
                  <SuggestionRow key={`${s.kind} ${s.reference}`} suggestion={s} decided={decided} />
                ))}
              </ul>
            )}
            {note && <p class="quiet">{note}</p>}
            <More pages={pages} total={total} />
          </>
        )}
      </Loaded>
    </section>
  );
}

function SuggestionRow({ suggestion: s, decided }: { suggestion: Suggestion; decided: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const decide = async (call: typeof markPII) => {
    setBusy(true);
    try {
      await call({ reference: s.reference, measure: s.kind === "measure", note: "" });
      decided();
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setBusy(false);
    }
  };
  return (
    <li class="rule">
      <div>
        <p>
          <strong>{s.reference}</strong> <span class="quiet">{s.kind}</span> <span class="tag">{s.confidence}</span>
        </p>
        <p>{s.why}</p>
        {problem && <ProblemNotice problem={problem} />}
      </div>
      <p class="tools">
        <button type="button" class="small" disabled={busy} aria-label={`Mark ${s.reference}`} onClick={() => void decide(markPII)}>
          Mark
        </button>
        <button type="button" class="small" disabled={busy} aria-label={`Clear ${s.reference}`} onClick={() => void decide(clearPII)}>
          Clear
        </button>
      </p>
    </li>
  );
}
