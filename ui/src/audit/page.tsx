import { useRef } from "preact/hooks";
import { listAudit, outcomes, type AuditFilter, type AuditItem } from "../api/operations";
import { navigate, useAddress } from "../router";
import { CopyButton } from "../ui/copy";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { Empty } from "../ui/notice";
import { Time } from "../ui/time";
import { usePages } from "../usepages";

export function AuditPage() {
  const { query } = useAddress();
  const filter = {
    principal: query.get("principal") ?? "",
    action: query.get("action") ?? "",
    outcome: outcomes.find((o) => o === query.get("outcome")),
  };
  const pages = usePages((cursor) => listAudit(filter, cursor), JSON.stringify(filter));
  const barred = pages.first.state === "failed" && pages.first.problem.status === 403;
  return (
    <>
      <PageHeading title="Audit" />
      <p>What was changed and what was refused, newest first.</p>
      {!barred && <Filter filter={filter} />}
      <Loaded load={pages.first} noPermission="The audit is for admins. Ask one of this deployment.">
        {({ total }) =>
          pages.items.length === 0 ? (
            <Empty>
              <p>
                <strong>Nothing is recorded that matches.</strong>
              </p>
              <p>
                <a href="/admin/audit">Show everything</a>
              </p>
            </Empty>
          ) : (
            <>
              <ol class="plain rows audit">
                {pages.items.map((item, i) => (
                  <AuditRow key={i} item={item} />
                ))}
              </ol>
              <More pages={pages} total={total} />
            </>
          )
        }
      </Loaded>
    </>
  );
}

function Filter({ filter }: { filter: AuditFilter }) {
  const form = useRef<HTMLFormElement>(null);
  const apply = () => {
    if (!form.current) return;
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form.current)) {
      if (typeof value === "string" && value.trim() !== "") query.set(name, value.trim());
    }
    navigate(query.size > 0 ? `/admin/audit?${query}` : "/admin/audit", { replace: true });
  };
  return (
    <form
      ref={form}
      class="filter"
      role="search"
      aria-label="Narrow the audit"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <label>
        Outcome
        <select name="outcome" value={filter.outcome ?? ""} onChange={apply}>
          <option value="">All</option>
          <option value="allow">Allowed</option>
          <option value="deny">Refused</option>
          <option value="error">Failed</option>
        </select>
      </label>
      <label>
        Action
        <input name="action" maxLength={100} defaultValue={filter.action} placeholder="execute_dax" spellcheck={false} />
      </label>
      <label>
        Who
        <input name="principal" maxLength={320} defaultValue={filter.principal} placeholder="email or id" spellcheck={false} />
      </label>
      <button type="submit">Narrow</button>
    </form>
  );
}

const shown = new Map([
  ["allow", { text: "allowed", tone: "good" }],
  ["deny", { text: "refused", tone: "bad" }],
  ["error", { text: "failed", tone: "warn" }],
]);

function AuditRow({ item }: { item: AuditItem }) {
  const outcome = shown.get(item.outcome) ?? { text: item.outcome, tone: "" };
  return (
    <li>
      <p class="audit-when quiet">
        <Time at={item.at} />
      </p>
      <div>
        <p>
          <code>{item.action}</code>
          <span class={`tag ${outcome.tone}`}>{outcome.text}</span>
          {item.element && <bdi> {item.element}</bdi>}
        </p>
        {item.reason && <p>{item.reason}</p>}
        <p class="quiet">
          {item.principal || item.principal_id} by {item.via}
          {item.client_id && (
            <>
              , client <code>{item.client_id}</code>
            </>
          )}
          {item.address && `, from ${item.address}`}
        </p>
        {(item.detail || item.request_id) && (
          <details>
            <summary class="quiet">More</summary>
            {item.request_id && (
              <p>
                Request <code>{item.request_id}</code> <CopyButton text={item.request_id} what="the request id" />
              </p>
            )}
            {item.detail && (
              <pre tabIndex={0} aria-label="Detail">
                <code>{item.detail}</code>
              </pre>
            )}
          </details>
        )}
      </div>
    </li>
  );
}
