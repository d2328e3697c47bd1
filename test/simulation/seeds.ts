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
  clockJumps: number;
  worldsWithJumps: number;
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
  const sum = { hours: 0, events: 0, attempts: 0, crashes: 0, clockJumps: 0, worldsWithJumps: 0 };
  for (let seed = from; seed < from + count; seed++) {
    const report = await simulate(seed, broken);
    onReport?.(report);
    if (report.violations.length > 0) failed.push(report);
    sum.hours += report.hours;
    sum.events += report.events;
    sum.attempts += report.attempts;
    sum.crashes += report.crashes;
    sum.clockJumps += report.clockJumps;
    if (report.clockJumps > 0) sum.worldsWithJumps++;
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startedAt) / 1000;
  return { from, count, ...sum, seconds, cpuSeconds: (user + system) / 1_000_000, failed };
}

export function describeRun(run: SeedRun): string {
  const perMinute = Math.round((run.hours * 60) / run.seconds);
  const last = run.from + run.count - 1;
  return [
    `R23 seeds ${run.from} to ${last}: ${Math.round(run.hours)} simulated hours in ${run.seconds.toFixed(1)} s ` +
      `(${run.cpuSeconds.toFixed(1)} s of CPU) = ${perMinute} hours/min`,
    `R7 R8 R15 R24: ${run.failed.length} of ${run.count} worlds broke a promise; ` +
      `${run.events} events, ${run.attempts} attempts, ${run.crashes} crashes`,
    `R17: ${run.clockJumps} clock jumps in ${run.worldsWithJumps} of these worlds`,
  ].join("\n");
}

export function describeFailure({ seed, violations, tail }: SimulationReport): string {
  return [`seed ${seed} (again with SIM_SEED=${seed}):`, ...violations, "the last steps:", ...tail].join("\n");
}
