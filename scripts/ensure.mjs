// Prepares a checkout: installs packages and builds the sources if necessary. Silent when everything is up to date.
// Uses only Node itself, because it runs before node_modules exists. As a command: `node scripts/ensure.mjs start` makes
// it ready to run, `all` also to be tested, and `packages` installs all packages without a build.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, isBuilt } from "./build.mjs";
import { install, isInstalled } from "./install.mjs";
import { withLock } from "./lock.mjs";
import { runScript, ScriptFailure } from "./run.mjs";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** `packages`: "start" for those that running and building need, "all" also for those of tests. */
export async function ensure(packages = "all") {
  checkNodeVersion();
  if (isInstalled(ROOT, packages) && isBuilt(ROOT)) return;
  await alone(async () => {
    await install(ROOT, packages);
    await build(ROOT);
  });
}

/** The process that started this one has done it, with another version of Node: this one would install everything again. */
export function isReady() {
  return process.env.POSTHORN_TEST_READY === "1";
}

export async function ensureInstalled() {
  checkNodeVersion();
  if (!isInstalled(ROOT, "all")) await alone(() => install(ROOT, "all"));
}

function alone(work) {
  mkdirSync(join(ROOT, "dist"), { recursive: true });
  return withLock(join(ROOT, "dist/.lock"), work, () => {
    process.stderr.write("posthorn: waiting for another process to install or build …\n");
  });
}

function checkNodeVersion() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new ScriptFailure(`needs Node.js 20.19 or newer; this is ${process.version}`, 3);
}

function runAsCommand() {
  const [packages = "start"] = process.argv.slice(2);
  return packages === "packages" ? ensureInstalled() : ensure(packages);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await runScript(runAsCommand);
