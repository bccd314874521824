import { connectAddress } from "../api/operations";

// ConnectLink leads through Microsoft and back to this page.
export function ConnectLink() {
  return (
    <a class="button primary" href={connectAddress(location.pathname)} target="_self">
      Connect Power BI
    </a>
  );
}
