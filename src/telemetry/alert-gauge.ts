import { Gauge, type Registry } from "prom-client";

export interface AlertValues {
  rule: string;
  severity: string;
  isActive: boolean;
}

/** Alerts of the whole gateway: at most one for each rule. */
export function createAlertGauge(registry: Registry) {
  const active = new Gauge({
    name: "posthorn_alerts_active",
    help: "1 while the alert of this rule is active",
    labelNames: ["rule", "severity"],
    registers: [registry],
  });
  return {
    set(alerts: readonly AlertValues[]): void {
      active.reset();
      for (const { rule, severity, isActive } of alerts) active.set({ rule, severity }, isActive ? 1 : 0);
    },
  };
}
