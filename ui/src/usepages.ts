import { useEffect, useState } from "preact/hooks";
import type { Page } from "./api/operations";
import { asProblem, type Problem } from "./api/problem";
import { useLoad } from "./useload";

// usePages loads the first page of a list, and further ones as they are asked for.
export function usePages<T>(load: (cursor?: string) => Promise<Page<T>>, key: string) {
  const first = useLoad<Page<T>>(() => load(), key);
  const [later, setLater] = useState<{ pages: Page<T>[]; busy: boolean; problem?: Problem }>({ pages: [], busy: false });
  const firstPage = first.state === "done" ? first.data : undefined;
  useEffect(() => setLater({ pages: [], busy: false }), [firstPage]);

  const pages = firstPage ? [firstPage, ...later.pages] : [];
  const cursor = pages.at(-1)?.next_cursor;
  const more = async () => {
    setLater({ pages: later.pages, busy: true });
    try {
      const page = await load(cursor);
      setLater({ pages: [...later.pages, page], busy: false });
    } catch (thrown) {
      setLater({ pages: later.pages, busy: false, problem: asProblem(thrown) });
    }
  };
  return { first, items: pages.flatMap((p) => p.items), hasMore: cursor !== undefined, more, busy: later.busy, problem: later.problem };
}
