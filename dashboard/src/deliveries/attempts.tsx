import { useQuery } from "@tanstack/react-query";
import { deliveryQuery } from "../api/queries.ts";
import type { Attempt, Delivery } from "../api/types.ts";
import { PlainText } from "../json/json-view.tsx";
import { Failure } from "../ui/failure.tsx";
import { HeaderList, KeyValues } from "../ui/key-values.tsx";
import { formatMs } from "../ui/numbers.ts";
import { Skeleton } from "../ui/skeleton.tsx";
import { AbsoluteTime, formatSpan, RelativeTime, useNow } from "../ui/time.tsx";
import { labelOf } from "./dead-causes.ts";
import { SentRequest } from "./sent-request.tsx";
import { TRIGGERS } from "./triggers.ts";

/** Why it is not delivered, and when it is tried next. */
export function Waiting({ delivery }: { delivery: Delivery }) {
  const now = useNow();
  const { status, hold_reason: hold, next_attempt_at: next, dead_reason: dead } = delivery;
  if (status === "dead") return <p className="small">Dead letter: {labelOf(dead)}</p>;
  if (status !== "pending") return null;
  if (hold !== null) return <p className="small">Held: {hold.replaceAll("_", " ")}</p>;
  if (next === null) return null;
  const span = formatSpan(Date.parse(next) - now);
  return <p className="small">Next attempt {span === "now" ? "now" : `in ${span}`}</p>;
}

/** Every attempt of a delivery, on a line of time that begins with the event. */
export function Attempts({ delivery, receivedAt }: { delivery: Delivery; receivedAt: string }) {
  const { data, error } = useQuery(deliveryQuery(delivery.id));
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Skeleton lines={2} />;
  if (data.attempts.length === 0) return <p className="muted small">No attempt yet.</p>;
  const longest = Math.max(...data.attempts.map(({ duration_ms: ms }) => ms), 1);
  return (
    <ol className="timeline">
      {data.attempts.map((attempt) => (
        <AttemptItem
          key={attempt.number}
          attempt={attempt}
          delivery={delivery}
          receivedAt={receivedAt}
          longest={longest}
        />
      ))}
    </ol>
  );
}

interface AttemptItemProps {
  attempt: Attempt;
  delivery: Delivery;
  receivedAt: string;
  longest: number;
}

function AttemptItem({ attempt, delivery, receivedAt, longest }: AttemptItemProps) {
  const after = Math.max(0, Date.parse(attempt.started_at) - Date.parse(receivedAt));
  const isGood = attempt.result === "success";
  return (
    <li className={`attempt ${isGood ? "attempt-good" : "attempt-bad"}`}>
      <details>
        <summary>
          <span>
            #{attempt.number} <strong>{attempt.response_code ?? attempt.result.replaceAll("_", " ")}</strong>
          </span>
          <span className="muted">{after < 1000 ? `after ${Math.round(after)} ms` : `after ${formatSpan(after)}`}</span>
          <meter className="attempt-bar" min={0} max={longest} value={attempt.duration_ms} aria-label="Duration" />
          <span className="number">{formatMs(attempt.duration_ms)}</span>
        </summary>
        <AttemptDetails attempt={attempt} delivery={delivery} />
      </details>
    </li>
  );
}

/** The whole request and the whole answer. The body of a request is not kept, but made again for who asks. */
export function AttemptDetails({ attempt, delivery }: { attempt: Attempt; delivery?: Delivery }) {
  return (
    <>
      {attempt.error !== null && <p className="error-text small">{attempt.error}</p>}
      <KeyValues
        rows={[
          [
            "Started",
            <span key="s">
              <AbsoluteTime at={attempt.started_at} />{" "}
              <span className="muted">
                (<RelativeTime at={attempt.started_at} />)
              </span>
            </span>,
          ],
          ["Why", TRIGGERS[attempt.trigger]],
          ["Sent to", attempt.url && <code key="u">{attempt.url}</code>],
          ["Address", attempt.address],
        ]}
      />
      <h3>Request headers</h3>
      <HeaderList headers={attempt.request_headers} />
      {delivery !== undefined && attempt.url !== null && <SentRequest delivery={delivery} />}
      <h3>Answer</h3>
      <HeaderList headers={attempt.response_headers} />
      {attempt.response_body !== null && attempt.response_body !== "" && <PlainText text={attempt.response_body} />}
    </>
  );
}
