import { useRef, useState } from "preact/hooks";
import { switchDataset, type SwitchedDataset } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";
import { Time } from "../ui/time";

// SwitchRow is one dataset, with the way to switch it. It stays where it is once it
// is switched, so that a mistake is undone on the spot.
export function SwitchRow({ dataset }: { dataset: SwitchedDataset }) {
  const [now, setNow] = useState(dataset);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const dialog = useRef<HTMLDialogElement>(null);

  const turn = async (off: boolean) => {
    setBusy(true);
    setProblem(undefined);
    try {
      setNow(await switchDataset(now.id, off));
      dialog.current?.close();
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
    setBusy(false);
  };

  return (
    <li class="rule">
      <div>
        <p>
          <strong>{now.name}</strong> {now.off && <span class="tag bad">off</span>}
        </p>
        <p class="quiet">
          {count(now.tables, "table")}, {count(now.columns, "column")}, {count(now.measures, "measure")}
        </p>
        {now.changed_at && (
          <p class="quiet">
            Switched {now.off ? "off" : "on"} by {now.changed_by}, <Time at={now.changed_at} />
          </p>
        )}
        {problem && !dialog.current?.open && <ProblemNotice problem={problem} />}
      </div>
      <p class="tools">
        {now.off ? (
          <button type="button" class="small" disabled={busy} onClick={() => void turn(false)} aria-label={`Switch ${now.name} on`}>
            Switch on
          </button>
        ) : (
          <button type="button" class="small" onClick={() => dialog.current?.showModal()} aria-label={`Switch ${now.name} off`}>
            Switch off
          </button>
        )}
      </p>
      <dialog ref={dialog} aria-label={`Switch ${now.name} off`}>
        <h2>Switch {now.name} off?</h2>
        <p>From their next request on, nobody finds or queries it here, admins included.</p>
        {problem && <ProblemNotice problem={problem} />}
        <p class="tools">
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave it on
          </button>
          <button type="button" class="primary" disabled={busy} onClick={() => void turn(true)}>
            Switch it off
          </button>
        </p>
      </dialog>
    </li>
  );
}

function count(n: number, what: string) {
  return n === 1 ? `1 ${what}` : `${n.toLocaleString()} ${what}s`;
}
