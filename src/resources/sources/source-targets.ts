import { probesWithoutDeliveries } from "../../deliver/target.ts";
import { type BrokerKind, describeQueue } from "../../model/connection.ts";
import type { SourceState } from "./source-record.ts";
import { DEFAULT_TENANT } from "../../model/event.ts";
import { checkGate, checkHold } from "../../model/hold-rules.ts";
import type { Source } from "../../model/source.ts";
import type { ManagedBy } from "../../model/subscription.ts";
import type { Draft } from "../draft.ts";
import { rejectProblems } from "../resource.ts";
import type { Subscriptions } from "../subscriptions/subscriptions.ts";
import type { KnownTarget, Targets } from "../target-states.ts";
import type { SharedTargets } from "../targets.ts";

interface PulledFrom {
  connection: string;
  target?: string | undefined;
  maxUnacknowledged: number;
  isUntilDelivered: boolean;
}

/** What a source that takes from a queue needs of the targets of its tenant. */
export function createSourceTargets(parts: {
  targets: Pick<Targets, "list">;
  sharedTargets: Pick<SharedTargets, "listIn">;
  subscriptions: Pick<Subscriptions, "count" | "findFallback" | "list">;
}) {
  const { targets, sharedTargets, subscriptions } = parts;

  /** A source that names no target means the only one. */
  function findNamed(all: readonly KnownTarget[], name: unknown): KnownTarget | undefined {
    return name === undefined && all.length === 1 ? all[0] : all.find((target) => target.name === name);
  }

  /** The possible targets of a source; they must not change until the draft is written. */
  function listTargets(draft: Draft, tenantId: string): readonly KnownTarget[] {
    // The targets that are listed come from both, so the draft must know that both were read.
    subscriptions.count(draft, tenantId);
    sharedTargets.listIn(draft, tenantId);
    return targets.list(tenantId);
  }

  /** What is in a fallback is nowhere else, and is for another gateway: this one would take it for known, or its own. */
  function isFallback(place: string): boolean {
    const all = subscriptions.list(undefined);
    return all.some((one) => subscriptions.findFallback(one)?.queuePlace === place);
  }

  return {
    listTargets,
    /** Throws `invalid_field` when a pulled source cannot work with these options. */
    checkPulled({ shown, options }: SourceState, managedBy: ManagedBy, draft: Draft): void {
      const all = listTargets(draft, shown.tenant_id ?? DEFAULT_TENANT);
      // Those of the same file are about to change with it, and are checked then.
      const users = findNamed(all, options["target"])?.subscriptions ?? [];
      const checked = users.filter((one) => managedBy === "api" || one.managedBy === "api");
      const names = all.map(({ name }) => name);
      const gate = managedBy === "api" ? checkGate(options, names) : [];
      rejectProblems([...gate, ...checkHold(options, checked)], ".");
    },
    /** How many messages of its queue may be held now, as far as its target allows. */
    maxHeld(
      { tenantId, kind, settings }: Pick<Source, "tenantId" | "kind" | "settings">,
      { connection, target: name, maxUnacknowledged, isUntilDelivered }: PulledFrom,
    ): number {
      const { queue } = settings.options;
      if (isFallback(describeQueue(kind as BrokerKind, connection, String(queue)))) return 0;
      const all = name === undefined && !isUntilDelivered ? [] : targets.list(tenantId);
      const known = findNamed(all, name);
      if (known?.state === undefined) return maxUnacknowledged;
      const { mode, rules, check } = known.state;
      const isChecked = rules.health !== undefined && known.subscriptions.some(({ status }) => status === "active");
      // Also before three checks have failed, and before the first one of a start.
      if (isChecked && mode.forced !== "NORMAL" && (check === undefined || check.error !== undefined)) return 0;
      if (!mode.isOpen) return maxUnacknowledged;
      // Without a health check, one message at a time probes whether the target is back.
      return probesWithoutDeliveries(known.state) ? 0 : 1;
    },
  };
}
