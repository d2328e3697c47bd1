import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createMetrics } from "../../../src/telemetry/metrics.ts";

const GAUGES = {
  openDeliveries: 0,
  deadLetters: 0,
  activeSubscriptions: 0,
  inFlight: 0,
  destinationsDown: 0,
  freeDiskBytes: 0,
  loopLagMs: 0,
  walBytes: 0,
  dueEvents: 0,
  retentionBehindS: 0,
  imbalance: 0,
};
/** What Prometheus itself adds. */
const OF_PROMETHEUS = ["up"];
const FUNCTIONS = /\b(?:sum|rate|increase|topk|histogram_quantile|label_values|by|le)\b/g;

interface RuleFile {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string; action: string } }[] }[];
}

async function knownNames(): Promise<Set<string>> {
  const metrics = createMetrics();
  metrics.countModeChange({ tenantId: "t", name: "n" }, "QUEUE");
  const text = await metrics.scrape({ ...GAUGES, targets: [] });
  const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  return new Set([...names, ...OF_PROMETHEUS]);
}

/** The names of metrics in an expression: what is left when labels, ranges, texts and functions are gone. */
function namesIn(expression: string): string[] {
  const bare = expression
    .replace(/\{[^}]*\}/g, "")
    .replace(/\[[^\]]*\]/g, "")
    .replace(/\bby\s*\([^)]*\)/g, "")
    .replace(/label_values\(([^,]+),[^)]*\)/g, "$1")
    .replace(FUNCTIONS, "");
  return bare.match(/[a-z_][a-z0-9_]*[a-z]/gi) ?? [];
}

function unknownIn(expressions: readonly string[], known: ReadonlySet<string>): string[] {
  return expressions.flatMap(namesIn).filter((name) => !known.has(name));
}

describe("what deploy/ asks of Prometheus", () => {
  const rules = (parse(readFileSync("deploy/prometheus/posthorn.rules.yaml", "utf8")) as RuleFile).groups.flatMap(
    (group) => group.rules,
  );
  const dashboard = JSON.parse(readFileSync("deploy/grafana/posthorn.json", "utf8")) as {
    templating: { list: { type: string; query: string }[] };
    panels: { title: string; targets: { expr: string }[] }[];
  };
  const shown = [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.filter(({ type }) => type === "query").map(({ query }) => query),
  ];

  it("are metrics that the gateway has", async () => {
    const known = await knownNames();
    const asked = rules.map(({ expr }) => expr);
    expect(asked.flatMap(namesIn).length).toBeGreaterThan(rules.length);
    expect(shown.flatMap(namesIn).length).toBeGreaterThan(dashboard.panels.length);
    expect(unknownIn([...asked, ...shown], known)).toEqual([]);
  });

  it("would be told apart from metrics that it has not", async () => {
    const known = await knownNames();
    expect(unknownIn(['sum by (status) (rate(webhook_delivered_total{a="b"}[5m])) > 1'], known)).toEqual([
      "webhook_delivered_total",
    ]);
  });

  it("keeps the thresholds of the event system's design", () => {
    const textOf = (name: string) => rules.find(({ alert }) => alert === name)?.expr ?? "";
    expect(textOf("PosthornSuccessRateLow")).toContain("< 0.95");
    expect(textOf("PosthornDeliveriesSlow")).toContain("> 5");
    expect(textOf("PosthornManyRetries")).toContain("> 0.1");
    expect(textOf("PosthornDeadLetters")).toContain("> 0");
  });

  it("says in each alert what it is and what to do", () => {
    const silent = rules.filter(({ annotations }) => !annotations.summary || !annotations.action);
    expect(silent.map(({ alert }) => alert)).toEqual([]);
  });
});
