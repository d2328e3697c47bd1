// Other versions of Node than the running one, from the package `node`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, ScriptFailure } from "./run.mjs";

/** The package `node` downloads its binary with an install script, so that script is allowed to run. */
export async function installNode(version, folder) {
  mkdirSync(folder, { recursive: true });
  const manifest = { private: true, dependencies: { node: version }, allowScripts: { node: true } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  const exitCode = await runNpm(["install"], { cwd: folder });
  if (exitCode !== 0)
    throw new ScriptFailure(`npm could not install Node ${version} (exit code ${exitCode})`, exitCode);
  return join(folder, "node_modules/node/bin/node");
}

export function runNpm(args, options) {
  const quietly = ["--no-audit", "--no-fund", "--loglevel=error"];
  return run("npm", [...args, ...quietly], { ...options, shell: process.platform === "win32" });
}
