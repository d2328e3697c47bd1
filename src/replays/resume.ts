import type { TargetMode } from "../deliver/mode.ts";
import { PosthornError } from "../model/errors.ts";
import type { Subscription } from "../model/subscription.ts";
import { checkIfMatch } from "../resources/resource.ts";
import type { Store } from "../store/store.ts";
import type { AuditTrail } from "../resources/audit-trail.ts";
import type { FailureEvents } from "../alerts/failure-events.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";

/** Continues sending after a pause or a suspension; held deliveries are sent, or skipped. */
export type Resume = ReturnType<typeof createResume>;

export function createResume(options: {
  store: Pick<Store, "lanes">;
  subscriptions: Pick<Subscriptions, "find" | "setStatus">;
  findMode: (subscriptionSeq: number) => TargetMode | undefined;
  failureEvents: Pick<FailureEvents, "resumed">;
  trail: Pick<AuditTrail, "note">;
}) {
  const { store, subscriptions, findMode, failureEvents, trail } = options;

  /** An active subscription holds deliveries only while its destination is down. */
  function isHolding({ seq, status }: Subscription): boolean {
    return status !== "active" || findMode(seq)?.isOpen === true;
  }

  async function skipHeld(seq: number): Promise<number> {
    let total = 0;
    let upTo: number | undefined;
    for (;;) {
      const step = await store.lanes.changeLane(seq, { act: "skip_held", upTo });
      upTo = step.upTo;
      total += step.changed;
      if (step.changed === 0) return total;
    }
  }

  return {
    /**
     * With `skip`, the held deliveries are cancelled first and the subscription becomes active last. So a crash in
     * between leaves it paused with fewer held deliveries, none of them is ever sent, and the same call skips the rest.
     * Deliveries that arrive while it skips are newer than the call, and are sent.
     */
    async resume(
      subscription: Subscription,
      held: "deliver" | "skip",
      ifMatch?: string,
    ): Promise<{ subscription: Subscription; skipped: number }> {
      const { seq, id, tenantId } = subscription;
      // Checked before anything is skipped, and again with the change.
      checkIfMatch(ifMatch, subscription);
      const isSkipping = held === "skip" && isHolding(subscription);
      // First, because skipped deliveries stay cancelled whatever happens next.
      if (isSkipping) await trail.note({ act: "subscription.skip_held", kind: "subscription", id, tenantId });
      const skipped = isSkipping ? await skipHeld(seq) : 0;
      const current = subscriptions.find(seq);
      if (current === undefined) throw new PosthornError("not_found", `There is no subscription ${id}.`);
      if (current.status === "active") return { subscription: current, skipped };
      const resumed = await subscriptions.setStatus(current, "active", {
        ifMatch,
        notify(draft, paused) {
          draft.explain({ held, skipped });
          failureEvents.resumed(draft, paused, paused.status, { held, skipped });
        },
      });
      return { subscription: resumed, skipped };
    },
  };
}
