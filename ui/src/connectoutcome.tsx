import { useAddress } from "./router";

// What the page that the browser comes back to after connecting Power BI says.
// The code is in the address, so anybody can write it: what is not here is silent.
const outcomes = new Map([
  ["connected", { good: true, text: "Your Power BI account is connected." }],
  [
    "groups_pending",
    { good: true, text: "Your Power BI account is connected. Your groups could not be read yet; they follow by themselves." },
  ],
  ["expired", { good: false, text: "Connecting took too long or was already finished. Start again." }],
  ["refused", { good: false, text: "Microsoft did not let this account be connected. Nothing has changed." }],
  ["not_own", { good: false, text: "Here you can connect only your own account, and this one is not known to be yours. Nothing has changed." }],
  ["unavailable", { good: false, text: "Connecting did not work just now. Try again in a minute." }],
]);

export function ConnectOutcome() {
  const outcome = outcomes.get(useAddress().query.get("power_bi") ?? "");
  if (!outcome) return null;
  return (
    <p class={outcome.good ? "notice good" : "notice bad"} role={outcome.good ? "status" : "alert"}>
      {outcome.text}
    </p>
  );
}
