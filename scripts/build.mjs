// Builds dist/ from src/ and plugins/: bundles the sources, copies other files, removes leftovers. Types are checked by `npm run
// check`: a start needs no compiler.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fullDisk, run, ScriptFailure } from "./run.mjs";

/** The inputs of the build, and the names of all files that it wrote. */
const STAMP = "dist/.posthorn-build";
/** The message of the bundler to this script. */
const BUNDLED = "dist/.bundled";
/** How the bundler ends when the disk is full. */
export const DISK_FULL = 28;
const CONFIGS = ["package-lock.json", "scripts/build.mjs", "scripts/bundle.mjs"];

export function isBuilt(root) {
  const stamp = join(root, STAMP);
  if (!existsSync(stamp)) return false;
  const { hash, files } = JSON.parse(readFileSync(stamp, "utf8"));
  return hash === hashOfInputs(root) && files.every((file) => existsSync(join(root, "dist", file)));
}

export async function build(root) {
  if (isBuilt(root)) return;
  process.stderr.write("posthorn: building …\n");
  rmSync(join(root, STAMP), { force: true });
  // Read first: a file that changes during the build makes the next build run again.
  const hash = hashOfInputs(root);
  // In a separate process, because the bundler keeps much memory.
  const exitCode = await run(process.execPath, ["scripts/bundle.mjs", BUNDLED], { cwd: root });
  if (exitCode === DISK_FULL) throw fullDisk(root);
  if (exitCode !== 0) throw new ScriptFailure(`the build failed (exit code ${exitCode} of the bundler)`, exitCode);
  const files = [...JSON.parse(readFileSync(join(root, BUNDLED), "utf8")), ...copyOtherFiles(root)];
  removeLeftOvers(root, files);
  writeFileSync(join(root, STAMP), JSON.stringify({ hash, files }));
}

function hashOfInputs(root) {
  const hash = createHash("sha256");
  const sources = ["src", "plugins", "sdk/src"].flatMap((folder) => listFiles(join(root, folder)));
  const files = [...CONFIGS.map((name) => join(root, name)), ...sources];
  for (const file of files) {
    if (existsSync(file))
      hash
        .update(`${relative(root, file)}\0`)
        .update(readFileSync(file))
        .update("\0");
  }
  return hash.digest("hex");
}

function copyOtherFiles(root) {
  // JSON is bundled, too.
  const others = listFiles(join(root, "src")).filter((file) => !/\.(?:ts|json)$/.test(file));
  return others.map((file) => {
    const name = relative(join(root, "src"), file);
    const copy = join(root, "dist", name);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
    return name;
  });
}

function removeLeftOvers(root, files) {
  const wanted = new Set(files.map((file) => join(root, "dist", file)));
  // It has its own build (build-dashboard.mjs).
  const dashboard = join(root, "dist/dashboard") + sep;
  for (const file of listFiles(join(root, "dist"))) {
    if (!wanted.has(file) && !file.startsWith(dashboard)) rmSync(file);
  }
}

/** Files whose name begins with a dot, such as the stamp, are neither input nor output. */
function listFiles(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(
      (file) =>
        !relative(folder, file)
          .split(sep)
          .some((part) => part.startsWith(".")),
    )
    .sort();
}
