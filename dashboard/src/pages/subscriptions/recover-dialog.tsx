import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, sendJson } from "../../api/client.ts";
import { replayQuery } from "../../api/replay-queries.ts";
import type { RecoverInclude, Replay, ReplayPlan, Subscription } from "../../api/types.ts";
import { useAction } from "../../ui/use-action.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Failure } from "../../ui/failure.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { CHANGED, pathOf } from "./paths.ts";

const FAILED = { failed: "Its dead letters" };
const INCLUDES: Readonly<Record<RecoverInclude, string>> = {
  ...FAILED,
  missing: "Events that it never had",
  all: "Both",
};

const HOUR_MS = 3_600_000;

/** Everything since a time, once more: counted first, then started as a job. */
export function RecoverDialog({ subscription, onClose }: { subscription: Subscription; onClose: () => void }) {
  const { id, name, can } = subscription;
  const [since, setSince] = useState(() => toLocal(Date.now() - HOUR_MS));
  const [include, setInclude] = useState<RecoverInclude>("failed");
  const at = new Date(since);
  const isTime = !Number.isNaN(at.getTime());
  const body = { since: isTime ? at.toISOString() : since, include };
  const plan = useAction({
    run: () => sendJson<ReplayPlan>("POST", pathOf(id, "/recover"), { ...body, plan: true }),
    changes: [],
    isFailureShown: () => true,
  });
  const start = useAction({
    run: () => sendJson<Replay>("POST", pathOf(id, "/recover"), body),
    changes: [...CHANGED, "replays"],
    isFailureShown: () => true,
  });
  const error = start.error ?? plan.error;

  function change(action: () => void): void {
    action();
    plan.reset();
    start.reset();
  }

  return (
    <Dialog isOpen onClose={onClose} title={`Recover ${name}`}>
      <p className="muted">After a failure on its side: what it missed is delivered again, behind what is new.</p>
      <label className="field">
        <span>Since</span>
        <input
          className="input"
          type="datetime-local"
          step={1}
          value={since}
          aria-invalid={error instanceof ApiError && error.field === "since"}
          onChange={({ target }) => change(() => setSince(target.value))}
        />
      </label>
      <label className="field">
        <span>What</span>
        <select
          className="input"
          value={include}
          onChange={({ target }) => change(() => setInclude(target.value as RecoverInclude))}
        >
          {Object.entries(can.use ? INCLUDES : FAILED).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <div role="status">
        {error !== null && <Failure error={error} />}
        {plan.data !== undefined && start.data === undefined && <p>{describe(plan.data)}</p>}
        {start.data !== undefined && <Progress replay={start.data} />}
      </div>
      <div className="dialog-actions">
        <Button onClick={onClose}>{start.data === undefined ? "Cancel" : "Close"}</Button>
        {plan.data === undefined ? (
          <Button kind="primary" disabled={!isTime} isBusy={plan.isPending} onClick={() => plan.mutate(undefined)}>
            Count
          </Button>
        ) : (
          <Button
            kind="primary"
            disabled={plan.data.count === 0 || start.data !== undefined}
            isBusy={start.isPending}
            onClick={() => start.mutate(undefined)}
          >
            Deliver them again
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function describe({ count, exact }: ReplayPlan): string {
  if (count === 0) return "There is nothing to deliver again since then.";
  return `${exact ? "" : "At least "}${formatCount(count)} ${count === 1 ? "delivery" : "deliveries"} would be sent again.`;
}

function Progress({ replay: started }: { replay: Replay }) {
  const { data: replay = started } = useQuery(replayQuery(started.id));
  const { done, total, status } = replay;
  return (
    <p className="progress-line">
      <progress max={Math.max(1, total)} value={done + replay.skipped + replay.failed} aria-label="Progress" />
      <span>
        {formatCount(done)} of {formatCount(total)} are on their way ({status})
      </span>
    </p>
  );
}

/** As the field wants it: local, without a zone. */
function toLocal(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19);
}
