import { ConnectLink } from "../ui/connectlink";

// ConnectPowerBI asks someone to connect the account that queries run as.
export function ConnectPowerBI({ state }: { state: string }) {
  return (
    <section class="panel call" aria-labelledby="connect-power-bi">
      <h2 id="connect-power-bi">{state === "needs_reconnect" ? "Connect Power BI again" : "Connect your Power BI account"}</h2>
      <p>
        {state === "needs_reconnect"
          ? "Microsoft no longer accepts your connection, so queries are refused until you renew it."
          : "Queries, yours and those of your agents, run under the rights of your own account. Until it is connected you can read the book, not ask for numbers."}
      </p>
      <ConnectLink />
    </section>
  );
}
