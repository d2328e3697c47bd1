// The command line in this process, any number of commands at once, in an empty folder and with nothing of ours in its
// environment. `run-cli.ts` is for tests whose subject is the process itself.
import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { afterAll, beforeAll } from "vitest";
import { runCommandLine } from "../../src/cli/program.ts";
import type { Signal } from "../../src/cli/surroundings.ts";
import type { Finished, Running } from "./run-command.ts";
import { startTestGateway, type TestGateway } from "./test-gateway.ts";
import { withoutOwnSettings } from "./run-cli.ts";

export interface CommandLine {
  readonly path: string;
  /** Set for every command that runs here. */
  readonly env: Record<string, string>;
  run(args: readonly string[], env?: NodeJS.ProcessEnv, input?: string): Promise<Finished>;
  start(args: readonly string[], env?: NodeJS.ProcessEnv, input?: string): RunningCommand;
  /** Ends what still runs, and the folder. */
  remove(): Promise<void>;
}

export interface RunningCommand extends Omit<Running, "child"> {
  stop(signal: Signal): Promise<Finished>;
}

/** A gateway and a command line that talks to it, for all tests of a file. */
export function useCommandLine(): { readonly cli: CommandLine; readonly gateway: TestGateway } {
  const used = {} as { cli: CommandLine; gateway: TestGateway };
  beforeAll(async () => {
    used.gateway = await startTestGateway();
    used.cli = await openCommandLine(used.gateway);
  });
  afterAll(async () => {
    await used.cli.remove();
    await used.gateway.close();
  });
  return used;
}

/** Its commands talk to the gateway, with an admin key of their own. */
export async function openCommandLine(gateway?: TestGateway): Promise<CommandLine> {
  const path = await mkdtemp(join(tmpdir(), "posthorn-cli-"));
  const running = new Set<RunningCommand>();
  const own: Record<string, string> = {};
  if (gateway !== undefined) {
    const { json } = await gateway.post("/api/v1/keys", { name: "first admin key", scopes: ["admin"] });
    Object.assign(own, { POSTHORN_URL: gateway.url, POSTHORN_API_KEY: json["key"] });
  }

  function start(args: readonly string[], env: NodeJS.ProcessEnv = {}, input = ""): RunningCommand {
    const printing = new EventEmitter();
    const texts = { stdout: "", stderr: "" };
    const capture = (stream: keyof typeof texts) =>
      new Writable({
        decodeStrings: false,
        write(text: string, _encoding, done) {
          texts[stream] += text;
          printing.emit("text");
          done();
        },
      });
    const signals = new EventEmitter();
    const ended = runCommandLine(args, {
      stdout: capture("stdout"),
      stderr: capture("stderr"),
      readStdin: () => Buffer.from(input),
      openStdin: () => Readable.from([input]),
      env: withoutUndefined({ ...withoutOwnSettings(), NO_COLOR: "1", ...own, ...env }),
      cwd: path,
      signals,
    });
    const finished = ended.then((exitCode) => ({ exitCode, ...texts }));
    const command: RunningCommand = {
      output: () => ({ ...texts }),
      finished,
      printed: (text, stream = "stdout") =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            if (!texts[stream].includes(text)) return;
            printing.off("text", look);
            resolve();
          };
          printing.on("text", look);
          void finished.then(
            () => reject(new Error(`ended without printing ${text}: ${texts.stdout}${texts.stderr}`)),
            reject,
          );
          look();
        }),
      stop(signal) {
        signals.emit(signal);
        return finished;
      },
    };
    running.add(command);
    const forget = () => running.delete(command);
    void finished.then(forget, forget);
    return command;
  }

  return {
    path,
    env: own,
    start,
    run: (args, env, input) => start(args, env, input).finished,
    async remove() {
      await Promise.all([...running].map((command) => command.stop("SIGTERM")));
      await rm(path, { recursive: true, force: true });
    },
  };
}

function withoutUndefined(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
}
