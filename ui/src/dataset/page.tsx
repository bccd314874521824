import { useRef, useState } from "preact/hooks";
import { getDataset, type Dataset } from "../api/operations";
import { navigate, useAddress, type Params } from "../router";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { useLoad } from "../useload";
import { Columns, Measures, TableRow } from "./contents";
import { measureQuery } from "./dax";
import { Facts } from "./facts";
import { hiddenSentence } from "./hidden";
import { Descriptions } from "./own";
import { QueryBox } from "./querybox";

export function DatasetPage({ params }: { params: Params }) {
  const id = params["id"] ?? "";
  const load = useLoad(() => getDataset(id), id);
  return (
    <>
      <PageHeading title={load.state === "done" ? load.data.name : "Dataset"} />
      <Loaded load={load} noPermission="Ask the owner of its workspace in Power BI for access.">
        {(dataset) => <Shown dataset={dataset} />}
      </Loaded>
    </>
  );
}

function Shown({ dataset }: { dataset: Dataset }) {
  const [dax, setDax] = useState("");
  const query = useRef<HTMLTextAreaElement>(null);
  const ask = (measure: string) => {
    setDax(measureQuery(measure));
    query.current?.focus();
  };
  return (
    <>
      <Descriptions
        dataset={dataset.id}
        name={dataset.name}
        what={{}}
        theirs={dataset.description}
        ours={dataset.own_description}
        version={dataset.own_version}
      />
      {dataset.pii_hidden ? <p class="notice">{hiddenSentence(dataset.pii_hidden)}</p> : null}
      <div class="beside">
        <div>
          <QueryBox dataset={dataset.id} dax={dax} setDax={setDax} input={query} />
          <Contents dataset={dataset} ask={ask} />
        </div>
        <Facts dataset={dataset} />
      </div>
    </>
  );
}

function Contents({ dataset, ask }: { dataset: Dataset; ask: (measure: string) => void }) {
  const { path, query } = useAddress();
  const words = query.get("find") ?? "";
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const find = (text: string) => {
    clearTimeout(timer.current);
    const to = text.trim() === "" ? path : `${path}?find=${encodeURIComponent(text.trim())}`;
    timer.current = setTimeout(() => navigate(to, { replace: true }), 250);
  };
  return (
    <>
      <label class="find">
        Find a measure or column
        <input type="search" maxLength={200} defaultValue={words} onInput={(event) => find(event.currentTarget.value)} />
      </label>
      <section aria-labelledby="measures">
        <h2 id="measures">
          Measures {words === "" && <span class="count">{dataset.measures.toLocaleString()}</span>}
        </h2>
        <Measures dataset={dataset.id} words={words} ask={ask} />
      </section>
      {words === "" ? (
        <section aria-labelledby="tables">
          <h2 id="tables">
            Tables <span class="count">{dataset.tables.length.toLocaleString()}</span>
          </h2>
          {dataset.tables.length === 0 && (
            <p class="quiet">{dataset.schema_error ? "Power BI told nothing of its tables." : "It has no table that you can see."}</p>
          )}
          <ul class="plain rows">
            {dataset.tables.map((t) => (
              <TableRow key={t.name} dataset={dataset.id} table={t} />
            ))}
          </ul>
          {dataset.note && <p class="quiet">{dataset.note}</p>}
        </section>
      ) : (
        <section aria-labelledby="columns">
          <h2 id="columns">Columns</h2>
          <Columns dataset={dataset.id} table="" words={words} />
        </section>
      )}
    </>
  );
}
