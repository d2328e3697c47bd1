import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One shell for all commands of a page, so that what one exports the next one has. */
export interface PageShell {
  /** Resolves to what the commands printed, on both streams. Rejects when one of them fails. */
  run(script: string): Promise<string>;
  close(): Promise<void>;
}

export function openPageShell(cwd: string, env: NodeJS.ProcessEnv): PageShell {
  const scripts = mkdtempSync(join(tmpdir(), "posthorn-page-shell-"));
  const child = spawn("bash", ["--noprofile", "--norc"], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  let count = 0;
  let look: () => void = () => undefined;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
    look();
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.stdin.write("exec 2>&1\n");

  return {
    async run(script) {
      count += 1;
      const file = join(scripts, `${count}.sh`);
      const end = `end-of-commands-${count}\n`;
      writeFileSync(file, script);
      output = "";
      const ended = new Promise<boolean>((resolve) => {
        look = () => output.endsWith(end) && resolve(true);
      });
      child.stdin.write(`set -e; . ${file} </dev/null; set +e; printf '%s\\n' ${end.trim()}\n`);
      const isWhole = await Promise.race([ended, closed.then(() => false)]);
      if (!isWhole) throw new Error(`a command failed:\n${script}\n${output}`);
      return output.slice(0, -end.length);
    },
    async close() {
      child.stdin.end();
      await closed;
      rmSync(scripts, { recursive: true });
    },
  };
}
