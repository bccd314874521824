import { listDatasets } from "../api/operations";
import { Empty } from "../ui/notice";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { usePages } from "../usepages";

// Datasets lists what the person can see, each with what sets it apart.
export function Datasets() {
  const pages = usePages(listDatasets, "datasets");
  return (
    <div>
      <Loaded load={pages.first} noPermission="Ask an admin of this deployment for a role.">
        {({ total }) =>
          pages.items.length === 0 ? (
            <Empty>
              <p>
                <strong>No dataset is visible to you yet.</strong>
              </p>
              <p>
                You see the datasets that Power BI lists for you. Ask the owner of a workspace or an app for access; it
                shows here after the next sync.
              </p>
            </Empty>
          ) : (
            <>
              <ul class="plain shelf">
                {pages.items.map((d) => (
                  <li key={d.id} class="book">
                    <h2>
                      <a href={`/datasets/${d.id}`}>{d.name}</a>
                    </h2>
                    <p class="quiet">
                      <span>{d.workspace}</span>
                      {d.endorsement && <span class="tag good">{d.endorsement}</span>}
                      {d.has_row_level_security && <span class="tag">row-level security</span>}
                    </p>
                    {(d.own_description || d.description) && <p class="clamp">{d.own_description || d.description}</p>}
                    {d.schema_error && <p class="quiet">Its tables are not known: {d.schema_error}</p>}
                  </li>
                ))}
              </ul>
              <More pages={pages} total={total} />
            </>
          )
        }
      </Loaded>
    </div>
  );
}
