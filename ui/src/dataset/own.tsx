import { useRef, useState } from "preact/hooks";
import { writeDescription, type Description } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { useMe } from "../me";
import { ProblemNotice } from "../ui/notice";

type Props = {
  dataset: string;
  name: string; // for people to read
  what: Omit<Description, "description" | "version">;
  theirs: string | undefined;
  ours: string | undefined;
  version: number | undefined;
};

// Descriptions are what Power BI says of something and what people here say, with
// the way to write the latter for those who may.
export function Descriptions({ dataset, name, what, theirs, ours, version }: Props) {
  const [now, setNow] = useState({ text: ours ?? "", version: version ?? 0 });
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const text = useRef<HTMLTextAreaElement>(null);
  const roles = useMe()?.roles ?? [];
  const mayWrite = roles.includes("curator") || roles.includes("admin");

  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      const written = await writeDescription(dataset, { ...what, description: text.current?.value ?? "", version: now.version });
      setNow({ text: written.own_description, version: written.own_version });
      dialog.current?.close();
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
    setBusy(false);
  };

  return (
    <>
      {theirs && <p>{theirs}</p>}
      {now.text && (
        <p class="own">
          <span class="tag">said here</span> {now.text}
        </p>
      )}
      {mayWrite && (
        <p class="tools">
          <button type="button" class="small" onClick={() => dialog.current?.showModal()} aria-label={`Describe ${name}`}>
            {now.text ? "Change what is said here" : "Describe it"}
          </button>
        </p>
      )}
      {mayWrite && (
        <dialog ref={dialog} aria-label={`Describe ${name}`}>
          <form class="stack" onSubmit={(event) => void save(event)}>
            <h2>Describe {name}</h2>
            <label>
              What people here should know
              <textarea ref={text} rows={5} maxLength={4000} defaultValue={now.text} />
            </label>
            <p class="quiet">It stands beside what Power BI says, and no sync changes it.</p>
            {problem && <ProblemNotice problem={problem} />}
            <p class="tools">
              <button type="button" onClick={() => dialog.current?.close()}>
                Leave it
              </button>
              <button type="submit" class="primary" disabled={busy}>
                Save
              </button>
            </p>
          </form>
        </dialog>
      )}
    </>
  );
}
