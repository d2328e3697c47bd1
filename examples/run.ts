import { parseArgs, type ParseArgsConfig } from "node:util";
import { suggestName } from "../src/model/nearest-name.ts";
import { n8nProxy } from "./n8n-proxy/walk-through.ts";
import { smartDairy } from "./smart-dairy/walk-through.ts";
import { smartsheetAdapter } from "./smartsheet-adapter/walk-through.ts";
import { runExample, type Example, type Settings } from "./support/example.ts";

const EXAMPLES: readonly Example[] = [n8nProxy, smartsheetAdapter, smartDairy];
const COMMON_FLAGS = {
  "--keep": "leave it running and sending until Ctrl-C, with the dashboard, a key and commands to try",
  "--help": "print this",
};
const EXIT_USAGE = 2;
/** npm passes on a Ctrl-C that the terminal has already sent to us: both are one wish. */
const SAME_WISH_MS = 500;

/** The command `npm run example`. Resolves to the exit code. */
export async function runExamples(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "list") {
    process.stdout.write(listExamples());
    return 0;
  }
  const example = EXAMPLES.find((one) => one.name === name);
  if (example === undefined) {
    const known = EXAMPLES.map((one) => one.name);
    return refuse(`There is no example ${name}${suggestName(name, known)}\n\n${listExamples()}`);
  }
  const settings = readSettings(example, rest);
  if (typeof settings === "string") return refuse(`${settings}\n\n${describe(example)}`);
  if (settings.flags?.["help"] === true) {
    process.stdout.write(describe(example));
    return 0;
  }
  return run(example, settings);
}

async function run(example: Example, settings: Settings): Promise<number> {
  const stopping = new AbortController();
  let firstAt: number | undefined;
  function stop(): void {
    firstAt ??= performance.now();
    stopping.abort();
    // What was started ends with this process, however that ends.
    if (performance.now() - firstAt > SAME_WISH_MS) process.exit(1);
  }
  // A promise alone does not keep the process alive.
  const alive = setInterval(() => undefined, 60_000);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
  try {
    return (await runExample(example, settings, { signal: stopping.signal })).exitCode;
  } finally {
    clearInterval(alive);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}

/** Or what is wrong with them. */
function readSettings(example: Example, args: readonly string[]): Settings | string {
  const names = Object.keys({ ...example.flags, ...COMMON_FLAGS }).map((flag) => /^--([\w-]+)(.*)$/.exec(flag));
  const options: NonNullable<ParseArgsConfig["options"]> = {};
  for (const [, name = "", value] of names.filter((one) => one !== null)) {
    options[name] = { type: value === "" ? "boolean" : "string" };
  }
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true });
    const flags = values as Record<string, string | boolean | undefined>;
    const { rate, keep } = flags;
    if (rate !== undefined && !(Number(rate) > 0 && Number(rate) <= 1000)) {
      return `--rate must be a number from 1 to 1000, not ${rate}.`;
    }
    return { flags, keep: keep === true, ...(rate !== undefined && { rate: Number(rate) }) };
  } catch (error) {
    const [first] = String(error instanceof Error ? error.message : error).split(". ", 1);
    return `${first}. Flags of examples stand behind --: npm run example -- ${example.name} --keep`;
  }
}

function refuse(text: string): number {
  process.stderr.write(`${text}\n`);
  return EXIT_USAGE;
}

function listExamples(): string {
  const width = Math.max(...EXAMPLES.map(({ name }) => name.length));
  const lines = EXAMPLES.map(({ name, summary }) => `  npm run example ${name.padEnd(width)}  ${summary}`);
  return `Examples that run by themselves, on this machine alone:\n\n${lines.join("\n")}\n\nFlags go behind --: npm run example -- smart-dairy --rate 50\nnpm run example -- NAME --help lists them.\n`;
}

function describe({ name, introduction, flags }: Example): string {
  const all = Object.entries({ ...flags, ...COMMON_FLAGS });
  const width = Math.max(...all.map(([flag]) => flag.length));
  const lines = all.map(([flag, text]) => `  ${flag.padEnd(width)}  ${text}`);
  return `Usage: npm run example -- ${name} [FLAGS]\n\n${introduction}\n\n${lines.join("\n")}\n`;
}
