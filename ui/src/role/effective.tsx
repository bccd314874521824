import { useState } from "preact/hooks";
import { listRoles, type Page, type RoleAssignment } from "../api/operations";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";
import { givenTo } from "./words";

// Effective shows which roles a person has at this moment, and what gives each.
export function Effective() {
  const [found, setFound] = useState<{ email: string; page: Page<RoleAssignment> }>();
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);

  const look = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const email = String(new FormData(event.currentTarget).get("effective") ?? "").trim();
    setBusy(true);
    setProblem(undefined);
    setFound(undefined);
    try {
      setFound({ email, page: await listRoles(email) });
    } catch (thrown) {
      setProblem(asProblem(thrown));
    }
    setBusy(false);
  };

  return (
    <section class="panel stack" aria-labelledby="effective">
      <h2 id="effective">What gives somebody their roles</h2>
      <form class="stack" onSubmit={look} autocomplete="off">
        <label>
          Email of a person
          <input type="email" name="effective" required maxLength={320} placeholder="ada@sample.example" spellcheck={false} />
        </label>
        <p class="tools">
          <button type="submit" disabled={busy}>
            Look
          </button>
        </p>
      </form>
      {problem && <ProblemNotice problem={problem} />}
      {found && (
        <div role="status" class="stack">
          {found.page.note && <p>{found.page.note}</p>}
          {found.page.items.length > 0 && (
            <ul class="plain rows" aria-label={`Roles of ${found.email}`}>
              {found.page.items.map((item) => (
                <li key={`${item.role} ${item.id ?? ""}`}>
                  <strong>{item.role}</strong> by {item.kind === "person" ? `an assignment of their own, ${item.subject}` : givenTo(item)}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </section>
  );
}
