import { useEffect } from "preact/hooks";
import { Band } from "./band";
import { isScreen } from "./next";
import { followLinks, match, useAddress, type Params } from "./router";
import { screens } from "./screens";
import { PageHeading } from "./ui/heading";
import { CardPage } from "./ui/card";

export function App() {
  const { path } = useAddress();
  useEffect(() => followLinks(isScreen), []);
  useEffect(() => window.scrollTo(0, 0), [path]);
  return (
    <>
      <Band />
      <Current path={path} />
    </>
  );
}

function Current({ path }: { path: string }) {
  for (const [pattern, Screen] of Object.entries(screens)) {
    const params: Params | undefined = match(pattern, path);
    if (params) return <Screen key={path} params={params} />;
  }
  return (
    <CardPage>
      <PageHeading title="No such page" />
      <p>
        There is nothing at this address. <a href="/">Go to the start page</a>.
      </p>
    </CardPage>
  );
}
