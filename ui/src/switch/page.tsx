import { useRef } from "preact/hooks";
import { listAllDatasets } from "../api/operations";
import { navigate, useAddress } from "../router";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { usePages } from "../usepages";
import { SwitchRow } from "./row";

// SwitchPage is where an admin switches datasets off and on. It names every dataset
// of the tenant and opens none.
export function SwitchPage() {
  const { path, query } = useAddress();
  const words = query.get("find") ?? "";
  const off = query.get("show") === "off";
  const pages = usePages((cursor) => listAllDatasets(words, off, cursor), `${words} ${off}`);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const show = (text: string, onlyOff: boolean) => {
    const next = new URLSearchParams({ ...(text.trim() && { find: text.trim() }), ...(onlyOff && { show: "off" }) });
    navigate(next.size > 0 ? `${path}?${next}` : path, { replace: true });
  };
  const find = (text: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => show(text, off), 250);
  };
  return (
    <>
      <PageHeading title="Datasets, off and on" />
      <p>
        A dataset that is off is absent here for everybody, whatever a policy says. Power BI is not changed. You see names and
        counts alone of datasets that Power BI does not show you.
      </p>
      <div class="stack">
        <label class="find">
          Find a dataset by name
          <input type="search" maxLength={200} defaultValue={words} onInput={(event) => find(event.currentTarget.value)} />
        </label>
        <label class="check">
          <input type="checkbox" checked={off} onChange={(event) => show(words, event.currentTarget.checked)} />
          Only those that are off
        </label>
      </div>
      <Loaded load={pages.first} noPermission="To switch datasets off is for admins. Ask one of this deployment.">
        {({ total }) => (
          <section aria-labelledby="all-datasets">
            <h2 id="all-datasets">
              Datasets <span class="count">{total.toLocaleString()}</span>
            </h2>
            {total === 0 && <p class="quiet">{words || !off ? "No dataset has this in its name." : "None is off."}</p>}
            <ul class="plain rows">
              {pages.items.map((dataset) => (
                <SwitchRow key={dataset.id} dataset={dataset} />
              ))}
            </ul>
            <More pages={pages} total={total} />
          </section>
        )}
      </Loaded>
    </>
  );
}
