import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Alert } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useCanChange } from "../../session/session.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { InlineCode } from "../../ui/inline-code.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { useAct } from "../../ui/use-act.ts";
import { AcknowledgeDialog, MuteDialog } from "./alert-dialogs.tsx";
import { alertQuery } from "./alert-queries.ts";
import { formatValue, hrefOfCause, nameRule } from "./alert-values.ts";
import { AlertStates } from "./alerts-page.tsx";

type Open = { kind: "acknowledge" } | { kind: "mute"; cause?: string };

export function AlertPage() {
  const { id } = useParams<{ id: string }>();
  const { data: alert, error, refetch } = useQuery(alertQuery(id));
  const canChange = useCanChange();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const unmute = useAct({
    run: () => sendJson<Alert>("POST", `/api/v1/alerts/${encodeURIComponent(id)}/unmute`, {}),
    changes: ["alerts"],
    says: "The alert is no longer muted.",
  });

  if (error !== null) {
    return (
      <>
        <PageHead title="Alert" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  if (alert === undefined) return <Skeleton lines={8} />;
  return (
    <>
      <PageHead title={alert.summary}>
        {canChange && (
          <>
            {alert.mutes.length > 0 && (
              <Button isBusy={unmute.isPending} onClick={() => unmute.mutate()}>
                Unmute
              </Button>
            )}
            <Button onClick={() => setOpen({ kind: "mute" })}>Mute</Button>
            {alert.status === "active" && alert.acknowledged === null && (
              <Button kind="primary" onClick={() => setOpen({ kind: "acknowledge" })}>
                Acknowledge
              </Button>
            )}
          </>
        )}
      </PageHead>
      <Facts alert={alert} />
      <Causes alert={alert} onMute={canChange ? (cause) => setOpen({ kind: "mute", cause }) : undefined} />
      <div className="columns">
        <Mutes alert={alert} />
        <Told alert={alert} />
      </div>
      {open?.kind === "acknowledge" && <AcknowledgeDialog alert={alert} onClose={close} />}
      {open?.kind === "mute" && <MuteDialog alert={alert} cause={open.cause} onClose={close} />}
    </>
  );
}

function Facts({ alert }: { alert: Alert }) {
  const { acknowledged } = alert;
  return (
    <section className="card facts" aria-label="Facts">
      <p>
        <strong>
          <InlineCode text={alert.action_required} />
        </strong>
      </p>
      <KeyValues
        rows={[
          [
            "Status",
            <span key="s" className="alert-head">
              <Badge
                state={alert.status}
                tone={alert.status === "cleared" ? "good" : alert.severity === "critical" ? "bad" : "waiting"}
              />
              <AlertStates alert={alert} />
            </span>,
          ],
          ["Severity", <Badge key="v" state={alert.severity} />],
          ["Rule", nameRule(alert.rule)],
          ["Tenant", alert.tenant_id],
          ["Value", `${formatValue(alert.value, alert.unit)} (limit ${formatValue(alert.threshold, alert.unit)})`],
          ["Fired", <Moment key="f" at={alert.fired_at} />],
          ["Cleared", alert.cleared_at === null ? undefined : <Moment key="c" at={alert.cleared_at} />],
          [
            "Acknowledged",
            acknowledged === null ? undefined : (
              <span key="a">
                by {acknowledged.by}, <RelativeTime at={acknowledged.at} />
                {acknowledged.note !== null && <>: {acknowledged.note}</>}
              </span>
            ),
          ],
        ]}
      />
    </section>
  );
}

function Moment({ at }: { at: string }) {
  return (
    <span>
      <AbsoluteTime at={at} />{" "}
      <span className="muted">
        (<RelativeTime at={at} />)
      </span>
    </span>
  );
}

function Causes({ alert, onMute }: { alert: Alert; onMute: ((cause: string) => void) | undefined }) {
  const rest = alert.count - alert.causes.length;
  return (
    <section className="card" aria-labelledby="causes-head">
      <h2 id="causes-head">Causes</h2>
      {alert.causes.length === 0 && <p className="muted">None any more.</p>}
      {alert.causes.length > 0 && (
        <table className="table table-stack">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Detail</th>
              <th scope="col" className="number">
                Value
              </th>
              {onMute !== undefined && (
                <th scope="col">
                  <span className="visually-hidden">Acts</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {alert.causes.map(({ cause, name, value, detail, tenant_id: tenantId }) => {
              const href = hrefOfCause(cause);
              return (
                <tr key={cause}>
                  <td>
                    <span>
                      {href === undefined ? name : <Link href={href}>{name}</Link>}
                      {tenantId !== null && <span className="muted small"> {tenantId}</span>}
                    </span>
                  </td>
                  <td data-label="Detail">{detail ?? "–"}</td>
                  <td className="number" data-label="Value">
                    {formatValue(value, alert.unit)}
                  </td>
                  {onMute !== undefined && (
                    <td className="table-acts">
                      <Button kind="quiet" aria-label={`Mute ${name}`} onClick={() => onMute(cause)}>
                        Mute
                      </Button>
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {rest > 0 && <p className="muted small">And {rest} more.</p>}
    </section>
  );
}

function Mutes({ alert }: { alert: Alert }) {
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

function Told({ alert }: { alert: Alert }) {
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
