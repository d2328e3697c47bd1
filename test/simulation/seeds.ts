/** Runs a row of seeds and tells of it. */
import type { BrokenParts } from "../support/simulated-gateway.ts";
import { simulate, type SimulationReport } from "./simulate.ts";

export interface SeedRun {
  from: number;
  count: number;
  hours: number;
  seconds: number;
  /** Of the processor, which others may use as well. */
  cpuSeconds: number;
  events: number;
  attempts: number;
  crashes: number;
  failed: readonly SimulationReport[];
}

export interface SeedRunOptions {
  from: number;
  count: number;
  broken?: BrokenParts | undefined;
  onReport?: (report: SimulationReport) => void;
}

export async function runSeeds({ from, count, broken, onReport }: SeedRunOptions): Promise<SeedRun> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const failed: SimulationReport[] = [];
  const sum = { hours: 0, events: 0, attempts: 0, crashes: 0 };
  for (let seed = from; seed < from + count; seed++) {
    const report = await simulate(seed, broken);
    onReport?.(report);
    if (report.violations.length > 0) failed.push(report);
    sum.hours += report.hours;
    sum.events += report.events;
    sum.attempts += report.attempts;
    sum.crashes += report.crashes;
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startedAt) / 1000;
  return { from, count, ...sum, seconds, cpuSeconds: (user + system) / 1_000_000, failed };
}

export function describeRun(run: SeedRun): string {
  const { from, count, hours, seconds, events, attempts, crashes, failed } = run;
  const perMinute = Math.round((hours * 60) / seconds);
  return (
    `R23 seeds ${from} to ${from + count - 1}: ${Math.round(hours)} simulated hours in ${seconds.toFixed(1)} s ` +
    `= ${perMinute} hours/min; ${events} events, ${attempts} attempts, ${crashes} crashes, ${failed.length} seeds failed`
  );
}

export function describeFailure({ seed, violations, tail }: SimulationReport): string {
  return [`seed ${seed} (again with SIM_SEED=${seed}):`, ...violations, "the last steps:", ...tail].join("\n");
}
