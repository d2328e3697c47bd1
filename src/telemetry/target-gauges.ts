import { Gauge, type Registry } from "prom-client";
import type { TargetValues } from "./metrics.ts";

/** Beyond this number, only some targets are listed: those with problems first. */
const MAX_TARGETS = 1000;

/** The state of each target. */
export function createTargetGauges(registry: Registry) {
  const labelNames = ["tenant_id", "target"] as const;
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers: [registry] });
  const mode = gauge("posthorn_target_queue_mode", "1 while the target is in QUEUE mode, 0 in NORMAL");
  const health = gauge("posthorn_target_healthy", "1 while the target is healthy, as far as is known");
  const open = gauge("posthorn_target_open_deliveries", "Deliveries for the target that are pending or being sent");
  const oldest = gauge("posthorn_target_oldest_open_seconds", "Age of the oldest delivery that waits for the target");

  return {
    set(targets: readonly TargetValues[]): void {
      for (const one of [mode, health, open, oldest]) one.reset();
      const isTroubled = (target: TargetValues) => target.mode === "QUEUE" || target.health === "error";
      const shown =
        targets.length <= MAX_TARGETS
          ? targets
          : [...targets.filter(isTroubled), ...targets.filter((target) => !isTroubled(target))].slice(0, MAX_TARGETS);
      for (const target of shown) {
        const labels = { tenant_id: target.tenantId, target: target.name };
        mode.set(labels, target.mode === "QUEUE" ? 1 : 0);
        health.set(labels, target.health === "ok" ? 1 : 0);
        open.set(labels, target.queueLength);
        oldest.set(labels, target.oldestOpenS);
      }
    },
  };
}
