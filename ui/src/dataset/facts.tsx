import type { Dataset, DatasetPart } from "../api/operations";
import { Time } from "../ui/time";

const partNames: Record<DatasetPart["part"], string> = {
  relationships: "Relationships",
  calculation_groups: "Calculation groups",
  calculation_items: "Calculation items",
  functions: "Functions of the model",
};

const stateWords: Record<DatasetPart["state"], string> = {
  read: "Read",
  outdated: "The schema has changed since they were read",
  refused: "Refused by Power BI",
  failed: "Could not be read",
  not_read: "Not read yet",
};

// Part is what is known of something that is read under people's tokens.
function Part({ of: p }: { of: DatasetPart }) {
  return (
    <>
      <dt>{partNames[p.part]}</dt>
      <dd>
        {stateWords[p.state]}
        {p.at && (
          <>
            {" "}
            <Time at={p.at} />
          </>
        )}
        {p.reason && <p>{p.reason}</p>}
        {p.effect && <p>Without pii_reader: {p.effect}</p>}
      </dd>
    </>
  );
}

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
        {d.parts.map((p) => (
          <Part key={p.part} of={p} />
        ))}
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
