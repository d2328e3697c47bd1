// Installs the packages of the lockfile when they are missing or belong to another lockfile: those that running and
// building need ("start"), or also those of tests, checks and benchmarks ("all").
import { createHash } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { run, ScriptFailure } from "./run.mjs";

const STAMP = "node_modules/.posthorn-install";
const PRESENT = "node_modules/.package-lock.json";

/** npm follows optional peers to packages that only tests need, unless it ignores all peers. */
const CI_START = ["ci", "--workspace=dashboard", "--include-workspace-root", "--legacy-peer-deps"];
const CI_ALL = ["ci"];
/** Leaves alone what a running gateway may be using. */
const ADD_ALL = ["install", "--no-save"];
const OPTIONS = [
  // The build needs the development packages even with NODE_ENV=production.
  "--include=dev",
  "--include=optional",
  "--no-audit",
  "--no-fund",
  "--loglevel=error",
  // Without a network, npm would give up only after more than a minute.
  "--fetch-retry-mintimeout=1000",
  "--fetch-retry-maxtimeout=10000",
];

/** How npm ends when a disk is full. */
const NO_SPACE = 256 - constants.errno.ENOSPC;

export function isInstalled(root, packages) {
  return isStamped(root, packages) || isInstalledByHand(root);
}

export async function install(root, packages) {
  if (isStamped(root, packages)) return;
  if (isInstalledByHand(root)) return writeStamp(root, "all");
  const isFirst = readOrUndefined(join(root, PRESENT)) === undefined;
  const reason = isFirst ? "first run" : "lockfile changed";
  // An installation with all packages keeps them.
  const isEnough = packages === "start" && (isFirst || readStamp(root)?.packages === "start");
  if (isStamped(root, "start")) await runNpm(root, ADD_ALL, "those of tests");
  else await runNpm(root, isEnough ? CI_START : CI_ALL, reason);
  writeStamp(root, isEnough ? "start" : "all");
}

async function runNpm(root, args, reason) {
  process.stderr.write(`posthorn: installing dependencies (${reason}) …\n`);
  const folder = mkdtempSync(join(tmpdir(), "posthorn-install-"));
  const errors = openSync(join(folder, "errors"), "w+");
  try {
    // npm's report must not be part of the command's standard output.
    const stdio = ["ignore", process.stderr, errors];
    const exitCode = await spawnNpm([...args, ...OPTIONS], { cwd: root, stdio });
    if (exitCode !== 0) throw failureOf(root, args[0], exitCode, readFileSync(join(folder, "errors"), "utf8"));
  } finally {
    closeSync(errors);
    rmSync(folder, { recursive: true, force: true });
  }
}

function spawnNpm(given, spawnOptions) {
  const { command, args, options } = toNpmCommand(given);
  return run(command, args, { ...spawnOptions, ...options });
}

/** The npm that runs this script, if one does. */
export function toNpmCommand(args) {
  const npm = process.env.npm_execpath;
  if (npm?.endsWith("npm-cli.js")) return { command: process.execPath, args: [npm, ...args], options: {} };
  return { command: "npm", args, options: { shell: process.platform === "win32" } };
}

function failureOf(root, command, exitCode, errors) {
  if (exitCode === NO_SPACE || /\bENOSPC\b/.test(errors)) {
    return new ScriptFailure(
      `npm found no space left on the disk of ${root}, or of its cache: free some, for example with npm cache clean --force`,
    );
  }
  const [, request] = /^npm error .*(request to \S+ failed, reason: .*)$/m.exec(errors) ?? [];
  if (request !== undefined) {
    return new ScriptFailure(`packages are missing, and npm's registry cannot be reached: ${request}`, exitCode);
  }
  process.stderr.write(errors);
  return new ScriptFailure(`npm ${command} failed with exit code ${exitCode}`, exitCode);
}

function isStamped(root, packages) {
  const stamp = readStamp(root);
  if (stamp?.lockfile !== hashOfLockfile(root) || stamp.machine !== machine()) return false;
  return stamp.packages === "all" || stamp.packages === packages;
}

function readStamp(root) {
  const [lockfile, ofMachine, packages] = readOrUndefined(join(root, STAMP))?.trim().split(" ") ?? [];
  return lockfile && { lockfile, machine: ofMachine, packages };
}

function writeStamp(root, packages) {
  writeFileSync(join(root, STAMP), `${hashOfLockfile(root)} ${machine()} ${packages}\n`);
}

function hashOfLockfile(root) {
  const lockfile = readOrUndefined(join(root, "package-lock.json"));
  if (lockfile === undefined) throw new ScriptFailure("package-lock.json is missing");
  return createHash("sha256").update(lockfile).digest("hex");
}

function machine() {
  return `${process.platform}-${process.arch}-abi${process.versions.modules}`;
}

/**
 * After `npm install` or `npm ci`, no second installation is needed: npm leaves a list of the installed packages.
 */
function isInstalledByHand(root) {
  const stamp = readStamp(root);
  if (stamp !== undefined && stamp.machine !== machine()) return false;
  const present = readOrUndefined(join(root, PRESENT));
  if (present === undefined) return false;
  const installed = JSON.parse(present).packages;
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional, link }]) =>
      !path.startsWith("node_modules/") ||
      // Workspaces import each other by path.
      path.startsWith("node_modules/@posthorn/") ||
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
