import { useState } from "preact/hooks";
import { answerDevice, type DeviceRequest } from "../api/auth";
import { asProblem, type Problem } from "../api/problem";
import { Answers } from "../ui/answers";
import { ProblemNotice } from "../ui/notice";
import { Powers } from "../ui/powers";
import { Time } from "../ui/time";

type Props = { code: string; request: DeviceRequest; again: () => void };

// Question asks whether the program that shows the code may act for the person.
export function Question({ code, request, again }: Props) {
  const [answer, setAnswer] = useState<"open" | "sending" | "allowed" | "denied">("open");
  const [problem, setProblem] = useState<Problem>();

  const send = async (allow: boolean) => {
    setAnswer("sending");
    setProblem(undefined);
    try {
      await answerDevice(code, allow);
      setAnswer(allow ? "allowed" : "denied");
    } catch (thrown) {
      setProblem(asProblem(thrown));
      setAnswer("open");
    }
  };

  if (answer === "allowed" || answer === "denied") {
    return (
      <p class="notice" role="status">
        {answer === "allowed" ? "Allowed. Go back to your terminal." : "Denied. The program got no access."} You can close
        this page.
      </p>
    );
  }
  const { person } = request;
  return (
    <>
      <p>
        A program that says it is <strong>pbmb, the command line</strong>, asks to act for you,{" "}
        <strong>{person.name || person.email}</strong>
        {person.name && <span class="quiet"> ({person.email})</span>}.
      </p>
      <dl class="facts">
        <dt>Started at</dt>
        <dd>
          <Time at={request.started_at} />
        </dd>
        <dt>Started from</dt>
        <dd>
          <code>{request.started_from || "unknown"}</code>
        </dd>
        <dt>Code</dt>
        <dd>
          <code>{code.toUpperCase()}</code>
        </dd>
      </dl>
      <p class="notice warn">
        Nothing vouches for this program, and anybody can start one. Allow only if you have just started it yourself, and
        the time and the address above are yours.
      </p>
      <Powers can={request.can} cannot={request.cannot} />
      {problem && <ProblemNotice problem={problem} />}
      <Answers sending={answer === "sending"} send={send} />
      <p>
        <button type="button" class="small" onClick={again}>
          Type another code
        </button>
      </p>
    </>
  );
}
