import type { RoleChange } from "../api/operations";
import { listed } from "./words";

// Changed says what giving or taking a role did.
export function Changed({ change, revoked }: { change: RoleChange; revoked: boolean }) {
  const { role, kind, roles_before, roles_after, effect, warnings } = change;
  return (
    <div class={warnings.length > 0 ? "notice warn" : "notice good"} role="status">
      <p>
        <strong>{revoked ? `${role} was taken away.` : `${role} was given.`}</strong> {effect}
      </p>
      {kind === "person" && roles_before.length + roles_after.length > 0 && (
        <p>
          Before: {listed(roles_before)}. From now on: {listed(roles_after)}.
        </p>
      )}
      {warnings.map((warning) => (
        <p key={warning}>{warning}</p>
      ))}
    </div>
  );
}
