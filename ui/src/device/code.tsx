import { useState } from "preact/hooks";
import { getDevice, type DeviceRequest } from "../api/auth";
import { asProblem, type Problem } from "../api/problem";
import { ProblemNotice } from "../ui/notice";

// CodeForm takes the code that a program shows, and looks it up.
export function CodeForm({ found }: { found: (code: string, request: DeviceRequest) => void }) {
  const [code, setCode] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      found(code.trim(), await getDevice(code.trim()));
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setBusy(false);
    }
  };

  return (
    <form class="stack" onSubmit={submit}>
      <p class="quiet">
        Type the code that <code>pbmb login</code> shows in your terminal. If somebody sent you a code, close this page:
        whoever started it would act as you.
      </p>
      <label>
        Code <span class="quiet">eight letters</span>
        <input
          type="text"
          class="user-code"
          required
          maxLength={20}
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          value={code}
          onInput={(event) => setCode(event.currentTarget.value)}
        />
      </label>
      {problem && <ProblemNotice problem={problem} />}
      <button type="submit" class="primary" disabled={busy}>
        Look it up
      </button>
    </form>
  );
}
