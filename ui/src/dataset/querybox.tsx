import type { MutableRef } from "preact/hooks";
import { useState } from "preact/hooks";
import { runQuery, type QueryResult } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ConnectLink } from "../ui/connectlink";
import { ProblemNotice } from "../ui/notice";
import { ResultTable } from "./resulttable";

type Outcome = { state: "none" | "running" } | { state: "rows"; result: QueryResult } | { state: "refused"; problem: Problem };

type Props = { dataset: string; dax: string; setDax: (dax: string) => void; input: MutableRef<HTMLTextAreaElement | null> };

// QueryBox runs a query under the person's own rights.
export function QueryBox({ dataset, dax, setDax, input }: Props) {
  const [purpose, setPurpose] = useState("");
  const [outcome, setOutcome] = useState<Outcome>({ state: "none" });

  const run = async () => {
    if (dax.trim() === "" || outcome.state === "running") return;
    setOutcome({ state: "running" });
    try {
      setOutcome({ state: "rows", result: await runQuery(dataset, dax, purpose) });
    } catch (thrown) {
      setOutcome({ state: "refused", problem: asProblem(thrown) });
    }
  };

  return (
    <section aria-labelledby="query">
      <h2 id="query">Ask with DAX</h2>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <label>
          Query
          <textarea
            ref={input}
            class="dax"
            required
            placeholder="EVALUATE …"
            maxLength={65536}
            spellcheck={false}
            autocapitalize="off"
            aria-keyshortcuts="Control+Enter"
            value={dax}
            onInput={(event) => setDax(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
                event.preventDefault();
                void run();
              }
            }}
          />
        </label>
        <label>
          What it is for <span class="quiet">(optional; kept in the query log)</span>
          <input type="text" maxLength={300} value={purpose} onInput={(event) => setPurpose(event.currentTarget.value)} />
        </label>
        <p>
          <button type="submit" class="primary" disabled={outcome.state === "running"}>
            {outcome.state === "running" ? "Running…" : "Run"}
          </button>{" "}
          <span class="quiet">or Ctrl-Enter</span>
        </p>
      </form>
      {outcome.state === "refused" && (
        <>
          <ProblemNotice problem={outcome.problem} />
          {(outcome.problem.kind === "connection_required" || outcome.problem.kind === "reconnect_required") && (
            <p>
              <ConnectLink />
            </p>
          )}
        </>
      )}
      {outcome.state === "rows" && <ResultTable result={outcome.result} />}
    </section>
  );
}
