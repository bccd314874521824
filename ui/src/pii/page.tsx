import { useState } from "preact/hooks";
import { listRules } from "../api/operations";
import { useAddress } from "../router";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { Empty } from "../ui/notice";
import { usePages } from "../usepages";
import { RuleForm, type Draft } from "./form";
import { RuleRow } from "./rule";
import { Suggestions } from "./suggestions";

export function PIIPage() {
  const { query } = useAddress();
  const [draft, setDraft] = useState<Draft>({
    reference: query.get("reference") ?? "",
    measure: query.get("kind") === "measure",
    note: "",
  });
  const pages = usePages(listRules, "rules");
  const [changes, setChanges] = useState(0);
  const changed = () => {
    pages.first.reload();
    setChanges((n) => n + 1);
  };
  return (
    <>
      <PageHeading title="Personal data" />
      <p>
        What is marked here is hidden from everybody without the role pii_reader, in every dataset, and queries that read
        it are refused.
      </p>
      <Loaded load={pages.first} noPermission="Rules on personal data are for admins. Ask one of this deployment.">
        {({ total }) => (
          <>
            <RuleForm draft={draft} setDraft={setDraft} decided={changed} />
            <section aria-labelledby="rules">
              <h2 id="rules">
                Rules <span class="count">{total.toLocaleString()}</span>
              </h2>
              {pages.items.length === 0 ? (
                <Empty>
                  <p>
                    <strong>Nothing is marked yet.</strong>
                  </p>
                  <p>Mark a column with the form above, or from its row in a dataset.</p>
                </Empty>
              ) : (
                <ul class="plain rows">
                  {pages.items.map((rule) => (
                    <RuleRow
                      key={`${rule.kind} ${rule.reference}`}
                      rule={rule}
                      change={() => setDraft({ reference: rule.reference, measure: rule.kind === "measure", note: rule.note ?? "" })}
                      removed={changed}
                    />
                  ))}
                </ul>
              )}
              <More pages={pages} total={total} />
            </section>
            <Suggestions changes={changes} decided={changed} />
          </>
        )}
      </Loaded>
    </>
  );
}
