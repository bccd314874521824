import { useAddress } from "../router";
import { PageHeading } from "../ui/heading";
import { useMe } from "../me";
import { ConnectClient } from "./connectclient";
import { ConnectPowerBI } from "./connectpowerbi";
import { Datasets } from "./datasets";
import { Results } from "./results";

export function HomePage() {
  const query = (useAddress().query.get("q") ?? "").trim();
  const me = useMe();
  if (query !== "") {
    return (
      <>
        <PageHeading title="Search results" />
        <Results query={query} />
      </>
    );
  }
  return (
    <>
      <PageHeading title="Your datasets" />
      <div class="beside">
        <div class="stack">
          {me && me.power_bi.state !== "connected" && <ConnectPowerBI state={me.power_bi.state} />}
          <Datasets />
        </div>
        <ConnectClient />
      </div>
    </>
  );
}
