import { spawn, spawnSync } from "node:child_process";

/** A command that a page leaves running in a terminal of its own. */
export interface Terminal {
  /** When it says that it listens. */
  readonly ready: Promise<void>;
  output(): string;
  stop(): Promise<void>;
}

const CTRL_C = "\u0003";
/** The sink, and the gateway's banner: it comes after all that a first start writes. */
const READY = /\blistens on\b|\bin another terminal\b/;

/** Some commands behave in another way without a terminal, so readers must be played on one. */
export function hasTerminals(): boolean {
  return spawnSync("script", ["-qec", "true", "/dev/null"], { stdio: "ignore" }).status === 0;
}

export function startTerminal(command: string, cwd: string, env: NodeJS.ProcessEnv): Terminal {
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    cwd,
    env: { ...env, SHELL: "/bin/bash" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let output = "";
  let hasEnded = false;
  const closed = new Promise<void>((resolve) =>
    child.once("close", () => {
      hasEnded = true;
      resolve();
    }),
  );
  const ready = new Promise<void>((resolve, reject) => {
    const take = (chunk: string) => {
      output += chunk;
      if (READY.test(output)) resolve();
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    void closed.then(() => reject(new Error(`ended before it listened:\n${output}`)));
  });
  return {
    ready,
    output: () => output,
    async stop() {
      if (!hasEnded) child.stdin.write(CTRL_C);
      await closed;
    },
  };
}
