import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { CopyButton } from "./copy";

// ProblemNotice tells what went wrong, what to do, and the id to ask about.
export function ProblemNotice({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>{problem.message}</strong>
      </p>
      {problem.upstream && (
        <p>
          Power BI says: <q>{problem.upstream}</q>
        </p>
      )}
      {problem.next && <p>{problem.next}</p>}
      {problem.requestId && (
        <p class="quiet request-id">
          Request <code>{problem.requestId}</code> <CopyButton text={problem.requestId} what="the request id" />
        </p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

// NoPermission stands where a screen would be that the person may not see.
export function NoPermission({ children }: { children: ComponentChildren }) {
  return (
    <div class="notice">
      <p>
        <strong>You do not have permission to see this.</strong>
      </p>
      <p>{children}</p>
    </div>
  );
}

// Empty says that there is nothing, and what would change that.
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="notice">{children}</div>;
}
