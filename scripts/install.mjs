// Installs the dependencies from the lockfile when they are missing or belong to another lockfile.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run, ScriptFailure } from "./run.mjs";

const STAMP = "node_modules/.posthorn-install";

export function isInstalled(root) {
  return readOrUndefined(join(root, STAMP)) === wantedStamp(root) || isInstalledByHand(root);
}

export async function install(root) {
  if (readOrUndefined(join(root, STAMP)) === wantedStamp(root)) return;
  if (isInstalledByHand(root)) {
    writeFileSync(join(root, STAMP), wantedStamp(root));
    return;
  }
  const isFirst = readOrUndefined(join(root, "node_modules/.package-lock.json")) === undefined;
  process.stderr.write(`posthorn: installing dependencies (${isFirst ? "first run" : "lockfile changed"}) …\n`);
  // The build needs the development packages even with NODE_ENV=production.
  const args = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const exitCode = await runNpm(args, root);
  if (exitCode !== 0) throw new ScriptFailure(`npm ci failed with exit code ${exitCode}`, exitCode);
  writeFileSync(join(root, STAMP), wantedStamp(root));
}

function runNpm(args, cwd) {
  // npm's report must not be part of the command's standard output.
  const options = { cwd, stdio: ["ignore", process.stderr, "inherit"] };
  const npm = process.env.npm_execpath;
  if (npm?.endsWith("npm-cli.js")) return run(process.execPath, [npm, ...args], options);
  return run("npm", args, { ...options, shell: process.platform === "win32" });
}

function wantedStamp(root) {
  const lockfile = readOrUndefined(join(root, "package-lock.json"));
  if (lockfile === undefined) throw new ScriptFailure("package-lock.json is missing");
  return `${createHash("sha256").update(lockfile).digest("hex")} ${machine()}\n`;
}

function machine() {
  return `${process.platform}-${process.arch}-abi${process.versions.modules}`;
}

/**
 * After `npm install` or `npm ci`, no second installation is needed: npm leaves a list of the installed packages.
 */
function isInstalledByHand(root) {
  const stamp = readOrUndefined(join(root, STAMP));
  if (stamp !== undefined && !stamp.trimEnd().endsWith(machine())) return false;
  const present = readOrUndefined(join(root, "node_modules/.package-lock.json"));
  if (present === undefined) return false;
  const installed = JSON.parse(present).packages;
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional, link }]) =>
      !path.startsWith("node_modules/") ||
      optional ||
      (link ? path in installed : installed[path]?.version === version),
  );
}

function readOrUndefined(file) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
