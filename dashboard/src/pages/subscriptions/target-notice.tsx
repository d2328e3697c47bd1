import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { sendJson } from "../../api/client.ts";
import { targetOfQuery } from "../../api/queries.ts";
import type { Subscription } from "../../api/types.ts";
import { Button } from "../../ui/button.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { RelativeTime } from "../../ui/time.tsx";
import { useAction } from "../../ui/use-action.ts";
import { hrefOf } from "../targets/target-key.ts";
import { CHANGED, pathOf } from "./paths.ts";

/** While its target is down: since when, why, and a way to try it. */
export function TargetNotice({ subscription }: { subscription: Subscription }) {
  const { id, status, can } = subscription;
  const { data: target } = useQuery(targetOfQuery(subscription));
  const drain = useAction({
    run: () => sendJson<{ waiting: number }>("POST", pathOf(id, "/drain")),
    changes: CHANGED,
    says: ({ waiting }) => `${formatCount(waiting)} deliveries are tried now.`,
  });
  if (target === undefined || target.mode === "NORMAL") return null;
  return (
    <div className="notice notice-waiting">
      <span>
        <Link href={hrefOf(target)}>Its target</Link> is in QUEUE
        {target.since !== null && (
          <>
            {" "}
            (<RelativeTime at={target.since} />)
          </>
        )}
        {target.reason === null ? "." : `: ${target.reason}.`} {formatCount(target.queue_length)} deliveries wait.
      </span>
      {can.change && status === "active" && (
        <Button isBusy={drain.isPending} onClick={() => drain.mutate(undefined)}>
          Try them now
        </Button>
      )}
    </div>
  );
}
