import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useParams } from "wouter";
import { sendJson } from "../../api/client.ts";
import { targetQuery } from "../../api/queries.ts";
import type { Target } from "../../api/types.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { useCanChange } from "../../session/session.tsx";
import { useMay } from "../../session/use-may.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DeleteDialog } from "../../ui/delete-dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { KeyValues } from "../../ui/key-values.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { AbsoluteTime, RelativeTime } from "../../ui/time.tsx";
import { toRow } from "../../ui/value-text.tsx";
import { ModeActions } from "./mode-actions.tsx";
import { ModeHistory } from "./mode-history.tsx";
import { TargetSubscriptions } from "./target-subscriptions.tsx";
import { errorOf, reasonOf } from "./trouble.ts";

export function TargetPage() {
  const { key } = useParams<{ key: string }>();
  const tenantId = useView().get("tenant_id");
  const canChange = useCanChange();
  const mayChange = useMay("change");
  const { data, error, refetch } = useQuery(targetQuery(key, tenantId));
  if (error !== null && data === undefined) {
    return (
      <>
        <PageHead title="Target" />
        <Failure error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  if (data === undefined) return <Skeleton lines={10} />;
  const target = data.thing;
  // The mode of a target holds its subscriptions back: changing it takes the right to change all of them.
  const canAct = canChange && target.subscriptions.every(mayChange);
  const isOurs = target.shared && target.managed_by !== "config";
  return (
    <>
      <PageHead title={target.name}>
        {canAct && <ModeActions target={target} />}
        {canAct && isOurs && <SharedActions target={target} etag={data.etag} />}
      </PageHead>
      <Now target={target} />
      <div className="columns">
        <ModeHistory target={target} />
        <div className="stack">
          <TargetSubscriptions target={target} />
          <Rules target={target} />
        </div>
      </div>
    </>
  );
}

const CONSEQUENCES: Readonly<Record<Target["condition"], string>> = {
  healthy: "Deliveries are sent.",
  failing: "Deliveries are sent, and some fail.",
  down: "Deliveries wait, and are tried from time to time.",
  paused: "What sends to it is paused. Deliveries wait.",
  suspended: "The gateway suspended what sends to it. Deliveries wait.",
};

function Now({ target }: { target: Target }) {
  const { mode, since, forced, condition, checked_at: checkedAt } = target;
  return (
    <section className={`card mode facts ${condition === "healthy" ? "mode-well" : "mode-troubled"}`} aria-label="Mode">
      <p className="mode-line">
        <Badge state={condition} />
        <strong>
          {CONSEQUENCES[condition]}
          {forced !== null && " An operator set this mode: its health changes nothing until it is automatic again."}
        </strong>
      </p>
      <KeyValues
        rows={[
          [
            "Since",
            since && (
              <span key="s">
                <AbsoluteTime at={since} />{" "}
                <span className="muted">
                  (<RelativeTime at={since} />)
                </span>
              </span>
            ),
          ],
          ["Reason", reasonOf(target)],
          ["Mode", mode],
          ["Checked", checkedAt && <RelativeTime key="c" at={checkedAt} />],
          ["Failures in a row", target.failures > 0 ? target.failures : undefined],
          ["Last error", errorOf(target)],
          ["Waiting", formatCount(target.queue_length)],
        ]}
      />
    </section>
  );
}

const RULES = [
  "description",
  "preset",
  "url",
  "health_url",
  "health_interval_s",
  "failures_to_open",
  "successes_to_close",
  "batch_size",
  "idle_wait_s",
  "max_bytes",
] as const satisfies readonly (keyof Target)[];

function Rules({ target }: { target: Target }) {
  const set = RULES.filter((name) => target[name] !== null);
  return (
    <section className="card" aria-labelledby="rules-head">
      <h2 id="rules-head">When it changes its mode</h2>
      {target.health_url === null && (
        <p className="muted small">It has no health check: while it is in QUEUE, one delivery at a time finds out.</p>
      )}
      <KeyValues rows={set.map((name) => toRow(name, target[name]))} />
      {!target.shared && target.subscriptions[0] !== undefined && (
        <p className="small">
          These are settings of its subscription.{" "}
          <Link href={`/subscriptions/${target.subscriptions[0]}`}>Open the subscription</Link>
        </p>
      )}
    </section>
  );
}

function SharedActions({ target, etag }: { target: Target; etag: string | undefined }) {
  const { name, tenant_id: tenantId, subscriptions } = target;
  const [isAsking, setAsking] = useState(false);
  const path = `/api/v1/targets/${encodeURIComponent(name)}?tenant_id=${encodeURIComponent(tenantId)}`;
  return (
    <>
      <Link
        className="button button-plain"
        href={`/targets/${encodeURIComponent(name)}/edit?tenant_id=${encodeURIComponent(tenantId)}`}
      >
        Edit
      </Link>
      {subscriptions.length === 0 && (
        <Button kind="quiet" onClick={() => setAsking(true)}>
          Delete
        </Button>
      )}
      {isAsking && (
        <DeleteDialog
          name={name}
          run={() => sendJson("DELETE", path, undefined, etag)}
          changes={["targets"]}
          goTo="/targets"
          onClose={() => setAsking(false)}
        >
          <p>No subscription uses it. Its settings are gone for good.</p>
        </DeleteDialog>
      )}
    </>
  );
}
