import { useArmed } from "../usearmed";

type Props = { sending: boolean; send: (allow: boolean) => void };

// Answers is Deny and Allow. An Allow that cannot be pressed yet keeps its place
// for the keyboard: if it were disabled, Tab would pass it over, and whoever comes
// back from another window would find the focus gone.
export function Answers({ sending, send }: Props) {
  const armed = useArmed(500);
  return (
    <div class="answers">
      <button type="button" disabled={sending} onClick={() => send(false)}>
        Deny
      </button>
      <button type="button" disabled={sending} aria-disabled={!armed} onClick={() => armed && send(true)}>
        Allow
      </button>
    </div>
  );
}
