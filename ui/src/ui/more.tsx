import type { Problem } from "../api/problem";
import { ProblemNotice } from "./notice";

type Props = { pages: { items: unknown[]; hasMore: boolean; more: () => void; busy: boolean; problem: Problem | undefined }; total: number };

// More says how much of a list is shown and gets the next page of it.
export function More({ pages, total }: Props) {
  return (
    <>
      {pages.problem && <ProblemNotice problem={pages.problem} />}
      {pages.hasMore && (
        <p class="more">
          <button type="button" disabled={pages.busy} onClick={pages.more}>
            Show more
          </button>{" "}
          <span class="quiet">
            {pages.items.length.toLocaleString()} of {total.toLocaleString()}
          </span>
        </p>
      )}
    </>
  );
}
