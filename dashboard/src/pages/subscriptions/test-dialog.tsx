import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import type { Delivery, Subscription, TestAttempt } from "../../api/types.ts";
import { useAction } from "../../ui/use-action.ts";
import { AttemptDetails } from "../../deliveries/attempts.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatMs } from "../../ui/numbers.ts";
import { Skeleton } from "../../ui/skeleton.tsx";
import { CHANGED, pathOf } from "./paths.ts";

/** Sends `test.event` once, and shows what the destination answered. */
export function TestDialog({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const { id, name } = subscription;
  const test = useAction({
    run: () => sendJson<TestAttempt | Delivery>("POST", pathOf(id, "/test")),
    changes: CHANGED,
    isFailureShown: () => true,
  });
  const isStarted = useRef(false);
  useEffect(() => {
    if (isStarted.current) return;
    isStarted.current = true;
    test.mutate(undefined);
  });
  return (
    <Dialog isOpen onClose={onClose} title={`Test of ${name}`} isWide>
      <div role="status" className="stack">
        {test.isPending && (
          <>
            <p className="muted">Sending test.event …</p>
            <Skeleton />
          </>
        )}
        {test.error !== null && <Failure error={test.error} />}
        {test.data !== undefined && !test.isPending && (
          <Answer answer={test.data} isSuspended={subscription.status === "suspended"} />
        )}
      </div>
      <div className="dialog-actions">
        <Button isBusy={test.isPending} onClick={() => test.mutate(undefined)}>
          Test again
        </Button>
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

function Answer({ answer, isSuspended }: { answer: TestAttempt | Delivery; isSuspended: boolean }) {
  if (!("result" in answer)) {
    const reason = answer.hold_reason?.replaceAll("_", " ");
    return (
      <p className="notice notice-waiting">
        It was not sent yet{reason === undefined ? "" : `: ${reason}`}. It waits as{" "}
        <Link href={`/events/${encodeURIComponent(answer.event_id)}`}>an event</Link>.
      </p>
    );
  }
  const isGood = answer.result === "success";
  return (
    <>
      <p className="row-head">
        <Badge state={isGood ? "success" : "failed"}>
          {answer.response_code ?? answer.result.replaceAll("_", " ")}
        </Badge>
        <strong>{isGood ? "The destination accepted it" : "The destination did not accept it"}</strong>
        <span className="muted">after {formatMs(answer.duration_ms)}</span>
      </p>
      {isGood && isSuspended && <p>It is still suspended: resume it, and what waits is sent.</p>}
      <AttemptDetails attempt={answer} />
    </>
  );
}
