import { useEffect } from "preact/hooks";
import { Band } from "./band";
import { Layout } from "./layout";
import { isScreen } from "./next";
import { followLinks, match, useAddress, type Params, type Screen } from "./router";
import { framed, standing } from "./screens";
import { CardPage } from "./ui/card";
import { PageHeading } from "./ui/heading";

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
  const alone = find(standing, path);
  if (alone) return <alone.Screen key={path} params={alone.params} />;
  const inside = find(framed, path);
  if (inside) {
    return (
      <Layout>
        <inside.Screen key={path} params={inside.params} />
      </Layout>
    );
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

function find(screens: Record<string, Screen>, path: string): { Screen: Screen; params: Params } | undefined {
  for (const [pattern, Screen] of Object.entries(screens)) {
    const params = match(pattern, path);
    if (params) return { Screen, params };
  }
  return undefined;
}
