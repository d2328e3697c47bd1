// Compiles src/ to dist/, and keeps there exactly what src/ gives: other files are copied, left-overs removed.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { areBundled, isBundle, useBundles } from "./bundle-packages.mjs";
import { run, ScriptFailure } from "./run.mjs";

const STAMP = "dist/.posthorn-build";
const CONFIGS = [
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "scripts/build.mjs",
  "scripts/bundle-packages.mjs",
];

export function isBuilt(root) {
  const stamp = join(root, STAMP);
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== hashOfInputs(root)) return false;
  return areBundled(root) && outputs(root).every((output) => existsSync(output));
}

export async function build(root) {
  if (isBuilt(root)) return;
  process.stderr.write("posthorn: building …\n");
  rmSync(join(root, STAMP), { force: true });
  // Taken first: a file that changes during the build makes the next one run again.
  const hash = hashOfInputs(root);
  if (outputs(root).some((output) => !existsSync(output))) rmSync(join(root, "dist/.tsbuildinfo"), { force: true });
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const exitCode = await run(process.execPath, [tsc, "-p", "tsconfig.build.json", "--noEmitOnError"], { cwd: root });
  if (exitCode !== 0) throw new ScriptFailure(`the build failed (tsc exit code ${exitCode})`, exitCode);
  copyOtherFiles(root);
  removeLeftOvers(root);
  const builtFiles = outputs(root).filter((output) => output.endsWith(".js"));
  await useBundles(root, builtFiles);
  writeFileSync(join(root, STAMP), hash);
}

function hashOfInputs(root) {
  const hash = createHash("sha256");
  const files = [...CONFIGS.map((name) => join(root, name)), ...listFiles(join(root, "src"))];
  for (const file of files) {
    if (existsSync(file))
      hash
        .update(`${relative(root, file)}\0`)
        .update(readFileSync(file))
        .update("\0");
  }
  return hash.digest("hex");
}

function outputs(root) {
  return listFiles(join(root, "src")).flatMap((file) => {
    const output = join(root, "dist", relative(join(root, "src"), file));
    return file.endsWith(".ts") ? [output.replace(/\.ts$/, ".js")] : [output];
  });
}

function copyOtherFiles(root) {
  for (const file of listFiles(join(root, "src"))) {
    if (file.endsWith(".ts")) continue;
    const copy = join(root, "dist", relative(join(root, "src"), file));
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
  }
}

function removeLeftOvers(root) {
  const wanted = new Set(outputs(root));
  for (const file of listFiles(join(root, "dist"))) {
    if (isBundle(root, file)) continue;
    if (!wanted.has(file) && !wanted.has(file.replace(/\.map$/, ""))) rmSync(file);
  }
}

/** Files whose name begins with a dot, such as the stamp, are nobody's input or output. */
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
