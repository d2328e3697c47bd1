import { Link } from "wouter";
import type { Alert } from "../../api/types.ts";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";

/** What somebody does not want to hear of for a time. */
export function Mutes({ alert }: { alert: Alert }) {
  return (
    <section className="card" aria-labelledby="mutes-head">
      <h2 id="mutes-head">Muted</h2>
      {alert.mutes.length === 0 && <p className="muted">Nothing is muted.</p>}
      <ul className="rows">
        {alert.mutes.map(({ cause, until, at, by, note }) => (
          <li key={cause ?? ""}>
            <p>
              {cause ?? "The whole rule"},{" "}
              {until === null ? (
                "until it is unmuted"
              ) : (
                <>
                  until <AbsoluteTime at={until} />
                </>
              )}
            </p>
            <p className="muted small">
              by {by}, <RelativeTime at={at} />
              {note !== null && <>: {note}</>}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Who was told of it. */
export function Told({ alert }: { alert: Alert }) {
  return (
    <section className="card" aria-labelledby="told-head">
      <h2 id="told-head">Messages</h2>
      {alert.told.length === 0 && <p className="muted">No message was sent about it.</p>}
      <ul className="rows">
        {alert.told.map(({ event_type: type, event_id: id, at, open, delivered, dead }) => (
          <li key={id}>
            <p>
              <Link href={`/events/${encodeURIComponent(id)}`}>{type}</Link>{" "}
              <span className="muted small">
                <RelativeTime at={at} />
              </span>
            </p>
            <p className="muted small">
              {open + delivered + dead === 0
                ? "Nobody subscribes to it."
                : `${delivered} delivered, ${open} open, ${dead} could not be delivered`}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
