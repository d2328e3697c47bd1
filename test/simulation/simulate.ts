/** Runs one seed: a gateway's days, with crashes, wrong clocks and operators, and then the reckoning. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createChance } from "../support/chance.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import type { BrokenParts } from "../support/simulated-gateway.ts";
import { checkWorld } from "./reckoning.ts";
import { drawScenario, HOUR, MINUTE } from "./scenario.ts";
import { createOperator } from "./operator.ts";
import { planWatch } from "./watch.ts";
import { openWorld, type World } from "./world.ts";
import { countOpen } from "../support/store-fixtures.ts";

export interface SimulationReport {
  seed: number;
  hours: number;
  events: number;
  attempts: number;
  crashes: number;
  clockJumps: number;
  violations: readonly string[];
  /** The last things that happened. */
  tail: readonly string[];
}

/** The longest wait of any schedule, with its jitter, and time for what comes after it. */
const HEALING_MS = 36 * HOUR;
const WATCHES = 12;
const MAX_VIOLATIONS = 20;

export async function simulate(seed: number, broken?: BrokenParts): Promise<SimulationReport> {
  const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-simulation-"));
  const chance = createChance(seed);
  const world = await openWorld({ folder, chance, scenario: drawScenario(chance.fork()), broken });
  try {
    const operator = createOperator(world, chance.fork());
    operator.planDay();
    for (let i = 0; i < WATCHES; i++) planWatch(world, chance.between(0, world.scenario.activeMs));
    await world.runUntil(world.scenario.activeMs, () => world.observer.violations.length > 0);
    await heal(world, operator.tidyUp);
    if (world.observer.violations.length === 0) await checkWorld(world);
  } catch (error) {
    world.observer.violation(`it threw ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    await world.close();
    rmSync(folder, { recursive: true });
  }
  const { violations, tail, attempts } = world.observer;
  return {
    seed,
    hours: world.time.elapsedMs / HOUR,
    events: world.senders.length,
    attempts,
    crashes: world.crashes,
    clockJumps: world.scenario.jumpCount,
    violations: violations.slice(0, MAX_VIOLATIONS),
    tail,
  };
}

/** Everything is well again: whatever is open must come to its end. */
async function heal(world: World, tidyUp: () => Promise<void>): Promise<void> {
  world.healDestinations();
  const end = world.time.elapsedMs + HEALING_MS;
  while (world.time.elapsedMs < end && world.observer.violations.length === 0) {
    await world.pump(tidyUp());
    planWatch(world, world.time.elapsedMs + MINUTE);
    await world.runUntil(world.time.elapsedMs + 30 * MINUTE);
    if ((await countOpen(world.gateway.store)) === 0) break;
  }
}
