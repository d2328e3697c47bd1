// A real terminal of a given width, with a shell in it.
import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import { findTool } from "../../scripts/test-tools.mjs";

export interface TmuxTerminal {
  /** Types a command and waits until it has ended. Resolves to the lines that it printed, each as long as it was. */
  run(command: string): Promise<readonly string[]>;
  /** Types without Enter. */
  type(...keys: string[]): void;
  /** The lines that are seen. A line that the terminal has broken is one line, longer than the terminal is wide. */
  lines(): readonly string[];
  close(): void;
}

const ROWS = 500;
let count = 0;

export function hasTmux(): boolean {
  return findTool("tmux") !== undefined;
}

export function openTmux(columns: number, cwd: string, env: NodeJS.ProcessEnv): TmuxTerminal {
  const server = `posthorn-${process.pid}-${count++}`;

  function tmux(...args: string[]): string {
    const whole = { ...process.env, LC_ALL: "C.UTF-8", PS1: "$ ", ...env };
    const options = { cwd, env: whole, encoding: "utf8" } as const;
    const { status, stdout, stderr } = spawnSync("tmux", ["-u", "-L", server, "-f", "/dev/null", ...args], options);
    if (status !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  const size = ["-x", String(columns), "-y", String(ROWS)];
  tmux("new-session", "-d", ...size, "bash --noprofile --norc -i");
  const type = (...keys: string[]) => void tmux("send-keys", ...keys);
  const lines = () =>
    tmux("capture-pane", "-p", "-J")
      .split("\n")
      .map((line) => line.trimEnd());

  return {
    type,
    lines,
    async run(command) {
      type("C-l");
      type("-l", `${command}; echo "ended $?"`);
      type("Enter");
      const findEnd = () => lines().findIndex((line) => /^ended \d+$/.test(line));
      await expect.poll(findEnd).toBeGreaterThan(0);
      return lines().slice(1, findEnd());
    },
    close: () => void tmux("kill-server"),
  };
}
