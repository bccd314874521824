import type { Dataset } from "../api/operations";
import { Time } from "../ui/time";

// Facts is what Power BI says of a dataset as a whole.
export function Facts({ dataset: d }: { dataset: Dataset }) {
  return (
    <aside class="panel" aria-label="Facts">
      <dl class="facts">
        <dt>Workspace</dt>
        <dd>{d.workspace}</dd>
        {d.endorsement && (
          <>
            <dt>Endorsement</dt>
            <dd>{d.endorsement}</dd>
          </>
        )}
        {d.apps.length > 0 && (
          <>
            <dt>In apps</dt>
            <dd>{d.apps.join(", ")}</dd>
          </>
        )}
        {d.configured_by && (
          <>
            <dt>Configured by</dt>
            <dd>{d.configured_by}</dd>
          </>
        )}
        <dt>Row-level security</dt>
        <dd>{d.has_row_level_security ? "People see different rows of it" : "None defined"}</dd>
        <dt>Relationships</dt>
        <dd>{d.relationships_read ? "Known here" : "Not read yet"}</dd>
        <dt>Last read</dt>
        <dd>
          <Time at={d.seen_at} />
        </dd>
        {d.schema_error && (
          <>
            <dt>Tables unknown</dt>
            <dd>{d.schema_error}</dd>
          </>
        )}
      </dl>
    </aside>
  );
}
