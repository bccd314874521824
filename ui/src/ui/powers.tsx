// Powers lists what a program will be able to do, and what it will not.
export function Powers({ can, cannot }: { can: string[]; cannot: string[] }) {
  return (
    <div class="can-cannot">
      <section>
        <h2>It will be able to</h2>
        <ul class="can">
          {can.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </section>
      <section>
        <h2>It will not be able to</h2>
        <ul class="cannot">
          {cannot.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </section>
    </div>
  );
}
