// Time shows a moment in the reader's own form, its zone on hover.
export function Time({ at }: { at: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <>{at}</>;
  const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }).format(date);
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" }).format(date);
  return (
    <time dateTime={at} title={full}>
      {short}
    </time>
  );
}
