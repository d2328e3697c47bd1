import { Gauge, type Registry } from "prom-client";
import type { TargetValues } from "./metrics.ts";

/** More than this are not told one by one: those in trouble come first. */
const MAX_TARGETS = 1000;

/** How each target is. */
export function createTargetGauges(registry: Registry) {
  const labelNames = ["tenant_id", "target"] as const;
  const mode = new Gauge({
    name: "posthorn_target_queue_mode",
    help: "1 while the target is in QUEUE mode, 0 in NORMAL",
    labelNames,
    registers: [registry],
  });
  const health = new Gauge({
    name: "posthorn_target_healthy",
    help: "1 while the target is well, as far as is known",
    labelNames,
    registers: [registry],
  });

  return {
    set(targets: readonly TargetValues[]): void {
      mode.reset();
      health.reset();
      const isTroubled = (target: TargetValues) => target.mode === "QUEUE" || target.health === "error";
      const shown =
        targets.length <= MAX_TARGETS
          ? targets
          : [...targets.filter(isTroubled), ...targets.filter((target) => !isTroubled(target))].slice(0, MAX_TARGETS);
      for (const target of shown) {
        const labels = { tenant_id: target.tenantId, target: target.name };
        mode.set(labels, target.mode === "QUEUE" ? 1 : 0);
        health.set(labels, target.health === "ok" ? 1 : 0);
      }
    },
  };
}
