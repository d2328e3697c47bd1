// What a page names as showing something: tests by file and name, and scripts of npm.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "./sample-checkout.ts";

const TEST = /^`(test\/[^`]+\.ts)`: (.+)$/;
const COMMAND = /^`npm run ([a-z:]+)(?: -- [^`]+)?`$/;

const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

/** What is wrong with one of the things that are said to show something. */
export function findFault(shown: string): string | undefined {
  const [, script] = COMMAND.exec(shown) ?? [];
  if (script !== undefined) return script in scripts ? undefined : `there is no script ${script}`;
  const [, path, name] = TEST.exec(shown) ?? [];
  if (path === undefined || name === undefined) return `${shown} names no test`;
  const file = join(PROJECT_ROOT, path);
  if (!existsSync(file)) return `there is no ${path}`;
  return isTestIn(readFileSync(file, "utf8"), name) ? undefined : `${path} has no test "${name}"`;
}

/** As the first argument of `it`, of what `it.each` returns, or as the name of a check in a contract. */
function isTestIn(source: string, name: string): boolean {
  const quoted = ['"', "'", "`"].map((quote) => `${quote}${name}${quote}`);
  return quoted.some((text) => {
    const at = source.indexOf(text);
    return at > 0 && /(?:\(|name:)\s*$/.test(source.slice(0, at));
  });
}
