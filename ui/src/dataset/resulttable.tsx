import type { QueryResult } from "../api/operations";
import { Time } from "../ui/time";
import { cellText, isNumber } from "./cell";

// ResultTable shows the rows of a query, and under whose rights they came.
export function ResultTable({ result }: { result: QueryResult }) {
  const { columns, rows } = result;
  return (
    <div class="result">
      <p role="status">
        <strong>
          {result.row_count.toLocaleString()} {result.row_count === 1 ? "row" : "rows"}
        </strong>{" "}
        <span class="quiet">
          as {result.ran_as}, row-level security: {result.row_level_security}, data of{" "}
          {result.data_at === "unknown" ? "an unknown time" : <Time at={result.data_at} />}
        </span>
      </p>
      {result.truncated && <p class="notice warn">{result.truncated}</p>}
      {result.note && <p class="quiet">{result.note}</p>}
      <div class="scroll" tabIndex={0} role="region" aria-label="Rows">
        <table>
          <thead>
            <tr>
              {columns.map((c) => (
                <th key={c.name} scope="col" class={isNumber(c.type) ? "number" : undefined}>
                  {c.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => (
              <tr key={i}>
                {columns.map((c, j) => (
                  <td key={c.name} class={isNumber(c.type) ? "number" : undefined}>
                    {cellText(row[j] ?? null, c.type)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
