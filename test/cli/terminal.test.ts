import { chmod, mkdir, symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
import stringWidth from "string-width";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { LAUNCHER } from "../support/run-cli.ts";
import { skipWithoutService } from "../support/skip.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { hasTmux, openTmux, type TmuxTerminal } from "../support/tmux.ts";

let cli: CommandLine;
let gateway: TestGateway;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  gateway = await startTestGateway();
  cli = await openCommandLine(gateway);
  cli.env["POSTHORN_DATA_DIR"] = gateway.dataDir;
  const to = "http://127.0.0.1:9/a/long/path/that/nobody/listens/at";
  await cli.run(["subscriptions", "create", "a-partner-with-a-long-name", "--to", to, "--events", "#"]);
  const type = "warehouse.north.shipment.customs_document.created";
  for (const id of [1, 2]) await cli.run(["send", type, "--id", `evt_with_a_long_id_of_its_own_${id}`]);
  const bin = join(cli.path, "bin");
  await mkdir(bin);
  await chmod(LAUNCHER, 0o755);
  await symlink(LAUNCHER, join(bin, "posthorn"));
  env = { ...cli.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
});

afterAll(async () => {
  await cli.remove();
  await gateway.close();
});

const tooLong = (lines: readonly string[], columns: number) => lines.filter((line) => stringWidth(line) > columns);
const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== "");

describe.each([80, 120])("a terminal that is %d columns wide", (columns) => {
  async function inTerminal(use: (terminal: TmuxTerminal) => Promise<void>): Promise<void> {
    const terminal = openTmux(columns, cli.path, env);
    try {
      await use(terminal);
    } finally {
      terminal.close();
    }
  }

  it.for([
    "deliveries",
    "events",
    "subscriptions",
    "audit",
    "trigger",
    "doctor",
    "events nope",
    "deliveries --status dead",
  ])("breaks no line of posthorn %s", async (command, context) => {
    if (!hasTmux()) return skipWithoutService(context, "tmux");
    await inTerminal(async (terminal) => {
      const lines = await terminal.run(`posthorn ${command}`);
      expect(lines.length).toBeGreaterThan(0);
      expect(tooLong(lines, columns)).toEqual([]);
    });
  });

  it("shows every event of every provider, whole", async (context) => {
    if (!hasTmux()) return skipWithoutService(context, "tmux");
    const { stdout } = await cli.run(["trigger"]);
    await inTerminal(async (terminal) => {
      const shown = await terminal.run("posthorn trigger");
      expect(wordsOf(shown.join("\n"))).toEqual(wordsOf(stdout));
    });
  });

  it("completes commands and flags with Tab", async (context) => {
    if (!hasTmux()) return skipWithoutService(context, "tmux");
    await inTerminal(async (terminal) => {
      await terminal.run("source <(posthorn completion bash)");
      terminal.type("posthorn subsc", "Tab");
      await expect.poll(() => terminal.lines().join("\n")).toMatch(/ posthorn subscriptions$/m);
      terminal.type("C-u");
      terminal.type("posthorn deliveries --stat", "Tab");
      await expect.poll(() => terminal.lines().join("\n")).toMatch(/ posthorn deliveries --status$/m);
      terminal.type("C-u");
      terminal.type("posthorn ", "Tab", "Tab");
      await expect.poll(() => terminal.lines().join("\n")).toMatch(/(?=[^]*\bvalidations\b)[^]*\bsubscriptions\b/);
      expect(tooLong(terminal.lines(), columns)).toEqual([]);
    });
  });

  it("would be seen to break a line that is too long", async (context) => {
    if (!hasTmux()) return skipWithoutService(context, "tmux");
    await inTerminal(async (terminal) => {
      const lines = await terminal.run(`printf '%0${columns + 1}d\\n' 7`);
      expect(tooLong(lines, columns)).toHaveLength(1);
    });
  });
});
