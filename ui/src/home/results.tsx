import { useState } from "preact/hooks";
import { search, type Hit } from "../api/operations";
import { Loaded } from "../ui/loaded";
import { Empty } from "../ui/notice";
import { useLoad } from "../useload";
import { groupByKind, pieces, type Group } from "./groups";

export function Results({ query }: { query: string }) {
  const load = useLoad(() => search(query), query);
  return (
    <Loaded load={load} noPermission="Ask an admin of this deployment for a role.">
      {({ items, note }) =>
        items.length === 0 ? (
          <Empty>
            <p>
              <strong>
                Nothing that you can see matches “<bdi>{query}</bdi>”.
              </strong>
            </p>
            <p>Try fewer words, or other ones that the business uses for it.</p>
          </Empty>
        ) : (
          <>
            <p class="visually-hidden" role="status">
              {items.length} found
            </p>
            {groupByKind(items).map((group) => (
              <GroupSection key={`${group.kind} ${query}`} group={group} query={query} />
            ))}
            {note && <p class="quiet">{note}</p>}
          </>
        )
      }
    </Loaded>
  );
}

const most = 8; // hits of a kind at first, so that the other kinds stay in sight

function GroupSection({ group, query }: { group: Group; query: string }) {
  const [all, setAll] = useState(false);
  const hits = all ? group.hits : group.hits.slice(0, most);
  return (
    <section class="group">
      <h2>
        {group.title} <span class="count">{group.hits.length}</span>
      </h2>
      <ul class="plain rows">
        {hits.map((hit, i) => (
          <HitRow key={i} hit={hit} query={query} />
        ))}
      </ul>
      {hits.length < group.hits.length && (
        <p class="more">
          <button type="button" class="small" onClick={() => setAll(true)}>
            Show all {group.hits.length} {group.title.toLowerCase()}
          </button>
        </p>
      )}
    </section>
  );
}

function HitRow({ hit, query }: { hit: Hit; query: string }) {
  const find = hit.kind === "dataset" ? "" : `?find=${encodeURIComponent(hit.name)}`;
  return (
    <li>
      <p>
        <a href={`/datasets/${hit.dataset_id}${find}`}>
          <Marked text={hit.name} query={query} />
        </a>{" "}
        <span class="quiet">
          in {hit.table && hit.kind !== "table" && `table ${hit.table}\u00a0· `}
          {hit.kind !== "dataset" && `dataset ${hit.dataset}\u00a0· `}
          {hit.workspace}
        </span>
      </p>
      {hit.description && (
        <p class="clamp">
          <Marked text={hit.description} query={query} />
        </p>
      )}
      {hit.own_description && (
        <p class="clamp">
          <span class="tag">said here</span> <Marked text={hit.own_description} query={query} />
        </p>
      )}
    </li>
  );
}

// Marked shows why a hit matched.
function Marked({ text, query }: { text: string; query: string }) {
  return <>{pieces(text, query).map((p) => (p.matched ? <mark>{p.text}</mark> : p.text))}</>;
}
