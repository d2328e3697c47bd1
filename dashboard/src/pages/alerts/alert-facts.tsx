import type { Alert } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { InlineCode } from "../../ui/inline-code.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { formatValue, nameRule } from "./alert-values.ts";
import { AlertStates } from "./alerts-page.tsx";

export function Facts({ alert }: { alert: Alert }) {
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
