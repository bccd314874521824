import { useState } from "preact/hooks";
import { listRoles, type RoleChange } from "../api/operations";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { More } from "../ui/more";
import { usePages } from "../usepages";
import { Effective } from "./effective";
import { RoleForm } from "./form";
import { Changed } from "./outcome";
import { AssignmentRow } from "./row";

// RolePage is where an admin says who has which role.
export function RolePage() {
  const pages = usePages((cursor) => listRoles("", cursor), "roles");
  const [change, setChange] = useState<{ revoked: boolean; of: RoleChange }>();
  const done = (revoked: boolean) => (of: RoleChange) => {
    setChange({ revoked, of });
    pages.first.reload();
  };
  return (
    <>
      <PageHeading title="People and roles" />
      <p>
        A role is given to a person, an email domain, a group or the whole tenant, and counts from the next request on. Members of
        the tenant to whom no shipped role is given have the default role, a setting.
      </p>
      <Loaded load={pages.first} noPermission="Roles are for admins. Ask one of this deployment.">
        {({ total }) => (
          <>
            {change && <Changed change={change.of} revoked={change.revoked} />}
            <RoleForm assigned={done(false)} />
            <section aria-labelledby="assignments">
              <h2 id="assignments">
                Assignments <span class="count">{total.toLocaleString()}</span>
              </h2>
              <ul class="plain rows">
                {pages.items.map((assignment) => (
                  <AssignmentRow key={assignment.id} assignment={assignment} revoked={done(true)} />
                ))}
              </ul>
              <More pages={pages} total={total} />
            </section>
            <Effective />
          </>
        )}
      </Loaded>
    </>
  );
}
