import { useState } from "preact/hooks";
import type { DeviceRequest } from "../api/auth";
import { getMe } from "../api/operations";
import { CardPage } from "../ui/card";
import { PageHeading } from "../ui/heading";
import { Loaded } from "../ui/loaded";
import { useLoad } from "../useload";
import { CodeForm } from "./code";
import { Question } from "./question";

// DevicePage lets the command line in. Nothing of its address is read: a link
// that brought a code along would spare the person from comparing it.
export function DevicePage() {
  const me = useLoad(getMe, "me"); // sends who is not signed in to do that before they type
  const [asked, setAsked] = useState<{ code: string; request: DeviceRequest }>();
  return (
    <CardPage>
      <PageHeading title="Let the command line in" />
      <Loaded load={me} noPermission="No role reaches you. Ask an admin of this deployment for one.">
        {() =>
          asked ? (
            <Question code={asked.code} request={asked.request} again={() => setAsked(undefined)} />
          ) : (
            <CodeForm found={(code, request) => setAsked({ code, request })} />
          )
        }
      </Loaded>
    </CardPage>
  );
}
