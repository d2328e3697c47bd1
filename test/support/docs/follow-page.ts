import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect } from "vitest";
import { findFreePort } from "../free-port.ts";
import { LAUNCHER, NO_SHEDDING } from "../run-cli.ts";
import { openPageShell } from "./page-shell.ts";
import { readSteps, type PageStep } from "./page-steps.ts";
import { startTerminal, type Terminal } from "./page-terminal.ts";

export interface FollowOptions {
  /** Where the reader is. */
  readonly folder: string;
  readonly env?: NodeJS.ProcessEnv;
  /** What is not here, and what is used instead of it. */
  readonly standIns?: readonly (readonly [text: string, instead: string])[];
  readonly onStep?: (step: PageStep) => void;
}

/** What the reader looks at, and how to have it shown again. */
interface Seen {
  output(): string;
  again?: () => Promise<void>;
}

const PORT = /(?<=(?:127\.0\.0\.1|localhost):|--port |port: |PORT=)\d{4,5}\b/g;
/** Beside other tests on a busy machine. */
const PATIENCE_MS = 60_000;
const GATEWAY_PORT = "8080";
/** `phk_…` stands for what the reader has seen last that begins so. */
const PLACEHOLDER = /\b(phk|whsec|sub|dlv|evt|req|rpl|alr|key)_…/g;

/** Does what the page says, step by step, on ports that are free. Throws at the first step that does not work. */
export async function followPage(text: string, options: FollowOptions): Promise<void> {
  const { folder, standIns = [], onStep } = options;
  const ports = await assignPorts(text);
  const bin = mkdtempSync(join(tmpdir(), "posthorn-page-bin-"));
  chmodSync(LAUNCHER, 0o755);
  symlinkSync(LAUNCHER, join(bin, "posthorn"));
  const usual = /^port: /m.test(text) ? {} : { POSTHORN_PORT: ports.get(GATEWAY_PORT) };
  const env = { ...cleanEnvironment(bin), ...usual, ...options.env };
  const shell = openPageShell(folder, env);
  const terminals = new Map<string, Terminal>();
  const seen: string[] = [];
  let last: Seen = { output: () => "" };

  function adapt(given: string): string {
    const known = standIns.reduce((now, [from, instead]) => now.replaceAll(from, instead), given);
    return known.replaceAll(PORT, (port) => ports.get(port) ?? port);
  }

  function prepare(given: string): string {
    return adapt(given).replaceAll(PLACEHOLDER, (placeholder, prefix: string) => findSeen(prefix) ?? placeholder);
  }

  function findSeen(prefix: string): string | undefined {
    const everything = [...seen, ...[...terminals.values()].map(({ output }) => output())].join("\n");
    return [...everything.matchAll(new RegExp(`\\b${prefix}_[\\w+/=-]+`, "g"))].at(-1)?.[0];
  }

  async function run(script: string): Promise<string> {
    const output = await shell.run(prepare(script));
    seen.push(output);
    return output;
  }

  async function take(step: PageStep): Promise<void> {
    switch (step.act) {
      case "save":
        writeFileSync(join(folder, step.file), prepare(step.text));
        return;
      case "start": {
        const terminal = startTerminal(prepare(step.script), folder, env);
        terminals.set(step.terminal, terminal);
        await terminal.ready;
        last = terminal;
        return;
      }
      case "stop":
        await terminals.get(step.terminal)?.stop();
        return;
      case "run": {
        let output = await run(step.script);
        last = { output: () => output };
        if (step.isRepeated) last.again = async () => void (output = await run(step.script));
        return;
      }
      case "see": {
        const place: Seen | undefined = step.terminal === undefined ? last : terminals.get(step.terminal);
        if (place === undefined) throw new Error(`${step.terminal} was never started`);
        await see(adapt(step.text), place);
      }
    }
  }

  try {
    for (const step of readSteps(text)) {
      try {
        await take(step);
      } catch (error) {
        throw new Error(`line ${step.block.line}: ${(error as Error).message}`, { cause: error });
      }
      onStep?.(step);
    }
  } finally {
    for (const terminal of terminals.values()) await terminal.stop();
    await shell.close();
    rmSync(bin, { recursive: true });
  }
}

async function see(text: string, { output, again }: Seen): Promise<void> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const look = async (): Promise<string> => {
    const missing = lines.filter((line) => !toPattern(line).test(output()));
    if (missing.length > 0) await again?.();
    return missing.length === 0 ? "" : `not seen:\n${missing.join("\n")}\nin:\n${output()}`;
  };
  await expect.poll(look, { timeout: PATIENCE_MS }).toBe("");
}

/** `…` is anything within a line; one space is any number of them. */
function toPattern(line: string): RegExp {
  const parts = line.trim().split(/\s*…\s*/);
  const escaped = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/\s+/g, "\\s+"));
  return new RegExp(escaped.join(".*"));
}

async function assignPorts(text: string): Promise<ReadonlyMap<string, string>> {
  const named = [...new Set([GATEWAY_PORT, ...(text.match(PORT) ?? [])])];
  const free = new Set<number>();
  while (free.size < named.length) free.add(await findFreePort());
  const given = [...free].map(String);
  return new Map(named.map((port, index) => [port, given[index] ?? port]));
}

/** With `posthorn` to be found, and without settings of whoever runs the tests. */
function cleanEnvironment(bin: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("POSTHORN_"));
  return {
    ...Object.fromEntries(own),
    ...NO_SHEDDING,
    NO_COLOR: "1",
    PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
  };
}
