// What every example is made of, and how it is run: by `npm run example`, and by its test.
import { setTimeout as wait } from "node:timers/promises";
import { PATIENCE_MS, until as untilTrue } from "../../test/support/api-client.ts";
import { createNarrator, STDOUT, type Narrator, type Output } from "./narrator.ts";
import { createWorld, type World } from "./world.ts";

export interface Example<Figures extends object = object> {
  name: string;
  /** One line for the list. */
  summary: string;
  /** What the walk-through shows, in two or three sentences. */
  introduction: string;
  /** Flags of its own: what stands behind each in the help. */
  flags: Readonly<Record<string, string>>;
  walk(story: Story): Promise<Ending<Figures>>;
}

/** What a walk-through is given to tell its story with. */
export interface Story extends Narrator {
  world: World;
  settings: Settings;
  /** Tells whether something is as it should be. What is not makes the example fail; it goes on all the same. */
  check(text: string, isTrue: boolean): void;
  /** Waits, but not for ever. */
  until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void>;
}

export interface Settings {
  /** Events a second of whoever sends steadily. */
  rate?: number;
  /** Flags of the example's own that were given. */
  flags?: Readonly<Record<string, string | boolean | undefined>>;
  /** Stays when the story is told, until `signal` says that it is enough. */
  keep?: boolean;
  /** Only for tests: how often it goes on while it is kept. */
  everyMs?: number;
  /** How long each wait may take before the example fails. */
  patienceMs?: number;
  /** Only for tests: another configuration than the one of the example. */
  changeConfig?: (yaml: string) => string;
}

export interface Ending<Figures> {
  figures: Figures;
  /** In words, for the summary. */
  summary: readonly (readonly [name: string, value: string | number])[];
  /** What `--keep` tells of: addresses and keys, and commands to try. */
  addresses: readonly (readonly [name: string, value: string])[];
  commands: readonly string[];
  /** What goes on while it is kept, about once in two seconds; `turn` counts from 1. */
  goOn(turn: number): Promise<unknown>;
}

export interface Outcome<Figures> {
  /** Undefined where the story was not told to its end. */
  figures: Figures | undefined;
  /** What was not as it should be. */
  failures: readonly string[];
  isInterrupted: boolean;
  exitCode: number;
}

const EXIT_INTERRUPTED = 130;
const EVERY_MS = 2000;

export async function runExample<Figures extends object>(
  example: Example<Figures>,
  settings: Settings = {},
  { output = STDOUT, signal }: { output?: Output; signal?: AbortSignal } = {},
): Promise<Outcome<Figures>> {
  const world = createWorld();
  const failures: string[] = [];
  let isTelling = true;
  // What is under way when somebody interrupts it has nothing to tell any more.
  const narrator = createNarrator({ ...output, write: (text) => isTelling && output.write(text) });
  const fail = (text: string) => {
    failures.push(text);
    narrator.failed(text);
  };
  const story: Story = {
    ...narrator,
    world,
    settings,
    check: (text, isTrue) => (isTrue ? narrator.passed(text) : fail(text)),
    async until(what, isTrue) {
      await untilTrue(
        () => {
          world.guard();
          return isTrue();
        },
        settings.patienceMs ?? PATIENCE_MS,
        what,
      );
    },
  };
  const interrupted = untilAborted(signal);
  let ending: Ending<Figures> | undefined;
  let isInterrupted = false;
  try {
    narrator.title(example.name, example.introduction);
    const telling = example.walk(story);
    const told = await Promise.race([telling, interrupted]);
    if (told === "interrupted") {
      [isInterrupted, isTelling] = [true, false];
      // It fails, because its world ends.
      telling.catch(() => undefined);
    } else {
      ending = told;
      narrator.facts("Summary", told.summary);
    }
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error));
  }
  if (ending !== undefined && settings.keep === true) {
    tellHowToGoOn(narrator, ending);
    await goOnUntil(interrupted, ending, settings.everyMs);
  }
  await stop(output, world, isInterrupted || settings.keep === true);
  if (!isInterrupted) tellResult(output, failures);
  return {
    figures: ending?.figures,
    failures,
    isInterrupted,
    exitCode: isInterrupted ? EXIT_INTERRUPTED : Number(failures.length > 0),
  };
}

function untilAborted(signal: AbortSignal | undefined): Promise<"interrupted"> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve("interrupted");
    signal?.addEventListener("abort", () => resolve("interrupted"), { once: true });
  });
}

async function goOnUntil(
  interrupted: Promise<"interrupted">,
  { goOn }: Ending<object>,
  everyMs = EVERY_MS,
): Promise<void> {
  for (let turn = 1; ; turn++) {
    // People try things out: what fails because of that is tried again with the next.
    const done = goOn(turn).catch(() => undefined);
    if ((await Promise.race([done, interrupted])) === "interrupted") return;
    if ((await Promise.race([wait(everyMs), interrupted])) === "interrupted") return;
  }
}

function tellHowToGoOn(narrator: Narrator, { addresses, commands }: Ending<object>): void {
  narrator.facts("Still running, and sending, until Ctrl-C", addresses);
  narrator.commands("Try in another terminal, in this folder", commands);
}

async function stop(output: Output, world: World, isTold: boolean): Promise<void> {
  if (isTold) output.write("\nStopping …\n");
  const names = await world.end();
  if (isTold) createNarrator(output).passed(`Stopped: ${names.join(", ") || "nothing was running"}.`);
}

function tellResult(output: Output, failures: readonly string[]): void {
  output.write("\n");
  const narrator = createNarrator(output);
  if (failures.length === 0) narrator.passed("Everything went as described.");
  else
    narrator.failed(
      `Not as described: ${failures.length === 1 ? "the line" : `the ${failures.length} lines`} with ✗ above.`,
    );
}
