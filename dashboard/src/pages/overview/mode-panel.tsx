import type { Status } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { formatSpan, RelativeTime, useNow } from "../../ui/time.tsx";

/** Whether the gateway delivers, and if not everywhere, where not, why and since when. */
export function ModePanel({ status }: { status: Status }) {
  const now = useNow();
  const troubled = status.targets.filter(({ mode, health }) => mode === "QUEUE" || health === "error");
  const isWell = status.mode === "NORMAL" && status.health === "ok";
  return (
    <section className={`card mode ${isWell ? "mode-well" : "mode-troubled"}`} aria-label="Mode">
      <p className="mode-line">
        <Badge state={status.mode} />
        <strong>{isWell ? "All targets are delivered to." : summarise(status, troubled.length)}</strong>
      </p>
      {troubled.length > 0 && (
        <ul className="trouble">
          {troubled.slice(0, 5).map((target) => (
            <li key={target.name}>
              <Badge state={target.mode} />
              <strong>{target.name}</strong>
              <span>{target.reason ?? target.last_error ?? "fails"}</span>
              <span className="muted">
                {formatCount(target.queue_length)} waiting
                {target.since !== null && <>, for {formatSpan(now - Date.parse(target.since))}</>}
              </span>
            </li>
          ))}
        </ul>
      )}
      {status.suspended.length > 0 && (
        <ul className="trouble">
          {status.suspended.slice(0, 5).map(({ id, subscription, since, reason }) => (
            <li key={id}>
              <Badge state="suspended" />
              <strong>{subscription}</strong>
              <span>{reason}</span>
              {since !== null && (
                <span className="muted">
                  <RelativeTime at={since} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function summarise({ mode, suspended, connections }: Status, troubled: number): string {
  if (mode === "QUEUE") {
    return `${troubled === 1 ? "One target is" : `${troubled} targets are`} down. What is for it waits and is delivered when it is back.`;
  }
  if (suspended.length > 0) return "Subscriptions are suspended. Review and resume them.";
  if (connections.some(({ state }) => state === "failed")) return "A broker cannot be reached.";
  return "Something is wrong.";
}
