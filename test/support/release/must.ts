import { runCommand } from "../run-command.ts";
import { PROJECT_ROOT } from "../sample-checkout.ts";

/** What a command prints, which must succeed. */
export async function must(command: string, args: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(command, args, PROJECT_ROOT);
  if (exitCode === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")}: exit code ${exitCode}\n${stdout.slice(-4000)}${stderr.slice(-4000)}`);
}
