import { useState } from "preact/hooks";
import { assignRole, type RoleChange, type RoleDraft } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";
import { shipped, targets, type Target } from "./words";

const own = "another";

// RoleForm gives a role to somebody.
export function RoleForm({ assigned }: { assigned: (change: RoleChange) => void }) {
  const [role, setRole] = useState("viewer");
  const [target, setTarget] = useState<Target>("person");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  // Some roles are for people and groups alone.
  const open = targets.filter(({ wide }) => !wide || !shipped.some((s) => s.name === role && s.narrow));
  const to = open.some((t) => t.target === target) ? target : "person";

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const element = event.currentTarget;
    if (!(element instanceof HTMLFormElement)) return;
    const form = new FormData(element);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const draft: RoleDraft = role === own ? { role: text("custom"), custom: true } : { role };
    if (to === "everybody") draft.everybody = true;
    else draft[to] = text("subject");
    if (to === "group") draft.provider = text("provider");
    setBusy(true);
    setProblem(undefined);
    try {
      assigned(await assignRole(draft));
      element.reset();
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
    setBusy(false);
  };

  const chosen = open.find((t) => t.target === to);
  return (
    <form class="panel stack" aria-labelledby="assign" onSubmit={submit} autocomplete="off">
      <h2 id="assign">Give a role</h2>
      <label>
        Role
        <select value={role} onChange={(event) => setRole(event.currentTarget.value)}>
          {shipped.map(({ name, opens }) => (
            <option key={name} value={name}>
              {name}: {opens}
            </option>
          ))}
          <option value={own}>One of this deployment's own policies</option>
        </select>
      </label>
      {role === own && (
        <label>
          Name of the role <span class="quiet">as the policy has it</span>
          <input type="text" name="custom" required maxLength={100} placeholder="metric_steward" spellcheck={false} />
        </label>
      )}
      <label>
        To
        <select value={to} onChange={(event) => setTarget(targets.find((t) => t.target === event.currentTarget.value)?.target ?? "person")}>
          {open.map(({ target, name }) => (
            <option key={target} value={target}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {chosen?.subject && (
        <label key={to}>
          {chosen.subject} <span class="quiet">{chosen.hint}</span>
          <input type={to === "person" ? "email" : "text"} name="subject" required maxLength={320} placeholder={chosen.example} spellcheck={false} />
        </label>
      )}
      {to === "group" && (
        <label>
          Provider <span class="quiet">its id on the page Sign-in</span>
          <input type="text" name="provider" required maxLength={30} defaultValue="microsoft" spellcheck={false} />
        </label>
      )}
      {problem && <ProblemNotice problem={problem} />}
      <p class="tools">
        <button type="submit" class="primary" disabled={busy}>
          Give the role
        </button>
      </p>
    </form>
  );
}
