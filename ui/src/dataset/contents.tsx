import { useState } from "preact/hooks";
import { listColumns, listMeasures, type Column, type Measure, type Table } from "../api/operations";
import { useMe } from "../me";
import { CopyButton } from "../ui/copy";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { usePages } from "../usepages";
import { measureReference } from "./dax";
import { hiddenSentence } from "./hidden";
import { Descriptions } from "./own";
import { useSought } from "./sought";

type MeasuresProps = { dataset: string; words: string; ask: (measure: string) => void };

// Measures lists the measures of a dataset that match, with their DAX.
export function Measures({ dataset, words, ask }: MeasuresProps) {
  const pages = usePages((cursor) => listMeasures(dataset, words, cursor), `${dataset} ${words}`);
  return (
    <Loaded load={pages.first}>
      {({ total, pii_hidden }) => (
        <>
          {total === 0 && <p class="quiet">{words ? "No measure has this in its name." : "It has no measure that you can see."}</p>}
          <ul class="plain rows">
            {pages.items.map((m) => (
              <MeasureRow key={`${m.table}[${m.name}`} measure={m} dataset={dataset} sought={m.name === words} ask={ask} />
            ))}
          </ul>
          <More pages={pages} total={total} />
          {words && pii_hidden ? <p class="quiet">{hiddenSentence(pii_hidden)}</p> : null}
        </>
      )}
    </Loaded>
  );
}

type MeasureProps = { measure: Measure; dataset: string; sought: boolean; ask: (measure: string) => void };

function MeasureRow({ measure: m, dataset, sought, ask }: MeasureProps) {
  return (
    <li ref={useSought(sought)}>
      <details open={sought}>
        <summary>
          <strong>{m.name}</strong> <span class="quiet">in {m.table}</span>
          {m.hidden && <span class="tag">hidden in reports</span>}
          {m.pii && <span class="tag bad">personal data</span>}
        </summary>
        <Descriptions
          dataset={dataset}
          name={m.name}
          what={{ table: m.table, measure: m.name }}
          theirs={m.description}
          ours={m.own_description}
          version={m.own_version}
        />
        {m.dax ? (
          <pre tabIndex={0} aria-label={`DAX of ${m.name}`}>
            <code>{m.dax}</code>
          </pre>
        ) : (
          <p class="quiet">Its DAX is not known here.</p>
        )}
        <p class="tools">
          <button type="button" class="small" onClick={() => ask(m.name)} aria-label={`Ask for ${m.name}`}>
            Ask for its value
          </button>
          <CopyButton text={measureReference(m.name)} what={`the reference of ${m.name}`} />
          <MarkLink reference={`${m.table}[${m.name}]`} kind="measure" marked={m.pii ?? false} />
        </p>
      </details>
    </li>
  );
}

// TableRow is one table; its columns are read when it is opened.
export function TableRow({ dataset, table }: { dataset: string; table: Table }) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <strong>{table.name}</strong>{" "}
          <span class="quiet">
            {table.columns === 1 ? "1 column" : `${table.columns.toLocaleString()} columns`}
          </span>
          {table.hidden && <span class="tag">hidden in reports</span>}
        </summary>
        {open && (
          <Descriptions
            dataset={dataset}
            name={table.name}
            what={{ table: table.name }}
            theirs={table.description}
            ours={table.own_description}
            version={table.own_version}
          />
        )}
        {open && <Columns dataset={dataset} table={table.name} words="" />}
      </details>
    </li>
  );
}

// Columns lists the columns that match, of one table or of all.
export function Columns({ dataset, table, words }: { dataset: string; table: string; words: string }) {
  const pages = usePages((cursor) => listColumns(dataset, table, words, cursor), `${dataset} ${table} ${words}`);
  return (
    <Loaded load={pages.first}>
      {({ total, pii_hidden }) => (
        <>
          {total === 0 && <p class="quiet">{words ? "No column has this in its name." : "It has no column that you can see."}</p>}
          <ul class="plain rows">
            {pages.items.map((c) => (
              <ColumnRow key={`${c.table}[${c.name}`} column={c} sought={c.name === words} withTable={table === ""} />
            ))}
          </ul>
          <More pages={pages} total={total} />
          {pii_hidden ? <p class="quiet">{hiddenSentence(pii_hidden)}</p> : null}
        </>
      )}
    </Loaded>
  );
}

function ColumnRow({ column: c, sought, withTable }: { column: Column; sought: boolean; withTable: boolean }) {
  return (
    <li class="column" ref={useSought(sought)}>
      <p>
        {c.name} <span class="quiet">{withTable ? `in ${c.table}, ${c.type}` : c.type}</span>
        {c.hidden && <span class="tag">hidden in reports</span>}
        {c.pii && <span class="tag bad">personal data</span>} 
        <MarkLink reference={`${c.table}[${c.name}]`} kind="column" marked={c.pii ?? false} />
      </p>
      {c.description && <p class="quiet">{c.description}</p>}
      {c.own_description && (
        <p class="quiet own">
          <span class="tag">said here</span> {c.own_description}
        </p>
      )}
      {c.dax && (
        <pre tabIndex={0} aria-label={`DAX of ${c.name}`}>
          <code>{c.dax}</code>
        </pre>
      )}
    </li>
  );
}

// MarkLink leads an admin to the form that makes a rule for this name.
function MarkLink({ reference, kind, marked }: { reference: string; kind: "column" | "measure"; marked: boolean }) {
  if (!useMe()?.roles.includes("admin")) return null;
  const query = new URLSearchParams({ reference, kind });
  const text = marked ? "Change the mark" : "Mark as personal data";
  return (
    <a class="mark-link" href={`/admin/pii?${query}`} aria-label={`${text}: ${reference}`}>
      {text}
    </a>
  );
}
