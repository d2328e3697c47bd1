// Builds dist/dashboard/, which the gateway serves at /, from dashboard/. Built only when one of its inputs has
// changed; the new files replace the old ones in one step, because a gateway may be serving them.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { withLock } from "./lock.mjs";
import { fullDisk, isDiskFull, run, runScript, ScriptFailure } from "./run.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BUILT = "dist/dashboard";
/** The hash of the files that it was built from. */
const STAMP = "dist/.dashboard-stamp";
/** That the last build failed, for the gateway, which then says so in place of the page. */
const FAILED = "dist/.dashboard-failed";
const PACKED = /\.(?:html|js|css|svg)$/;

export function isDashboardBuilt(root = ROOT) {
  const stamp = join(root, STAMP);
  if (!existsSync(stamp) || !existsSync(join(root, BUILT, "index.html"))) return false;
  const { hash, shared } = JSON.parse(readFileSync(stamp, "utf8"));
  return hash === hashOfInputs(root, shared);
}

/** A separate process, whose environment says what is built. */
const BUILD = [
  process.execPath,
  [fileURLToPath(import.meta.url)],
  { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] },
];

/** Builds it if necessary. */
export async function ensureDashboard() {
  if (isDashboardBuilt()) return;
  const exitCode = await run(...BUILD);
  if (exitCode !== 0) throw new ScriptFailure(`the dashboard was not built (exit code ${exitCode})`, exitCode);
}

/** As `ensureDashboard`; this process waits for it neither now nor at its end. The gateway says so until it is ready. */
export function buildDashboardBeside() {
  if (isDashboardBuilt()) return;
  const child = spawn(...BUILD);
  child.on("error", (error) => process.stderr.write(`posthorn: the dashboard was not built: ${error.message}\n`));
  child.unref();
}

async function buildAlone(root) {
  process.env.NODE_ENV = "production";
  mkdirSync(join(root, "dist"), { recursive: true });
  await withLock(
    join(root, "dist/.dashboard-lock"),
    async () => {
      if (!isDashboardBuilt(root)) await buildOrTell(root);
    },
    () => process.stderr.write("posthorn: waiting for another process that builds the dashboard …\n"),
  );
}

async function buildOrTell(root) {
  rmSync(join(root, FAILED), { force: true });
  try {
    await build(root);
  } catch (error) {
    writeFileSync(join(root, FAILED), "");
    if (isDiskFull(error)) throw fullDisk(root);
    throw new ScriptFailure(`the dashboard was not built: ${error.message}`);
  }
}

async function build(root) {
  process.stderr.write("posthorn: building the dashboard …\n");
  const next = join(root, "dist/.dashboard-next");
  const former = join(root, "dist/.dashboard-former");
  const { build: bundle } = await import("vite");
  const config = join(root, "dashboard/vite.config.ts");
  const output = await bundle({
    configFile: config,
    root: join(root, "dashboard"),
    logLevel: "warn",
    build: { outDir: next, emptyOutDir: true },
  });
  // It uses some names and tables of the server, and the client of the SDK, whose changes must rebuild it too.
  const shared = sharedModules(root, output);
  const hash = hashOfInputs(root, shared);
  await pack(next);
  rmSync(join(root, STAMP), { force: true });
  rmSync(former, { recursive: true, force: true });
  if (existsSync(join(root, BUILT))) renameSync(join(root, BUILT), former);
  renameSync(next, join(root, BUILT));
  rmSync(former, { recursive: true, force: true });
  writeFileSync(join(root, STAMP), JSON.stringify({ hash, shared }));
}

function sharedModules(root, output) {
  const roots = ["src", "sdk/src"].map((folder) => join(root, folder) + sep);
  const ids = [output].flat().flatMap(({ output: files }) => files.flatMap((file) => file.moduleIds ?? []));
  const own = ids
    .filter((id) => roots.some((folder) => id.startsWith(folder)))
    .map((id) => relative(root, id).split(sep).join("/"));
  return [...new Set(own)].sort();
}

function hashOfInputs(root, shared) {
  const hash = createHash("sha256");
  const files = [
    ...listFiles(join(root, "dashboard")),
    ...[...shared, "package-lock.json", "scripts/build-dashboard.mjs"].map((name) => join(root, name)),
  ];
  for (const file of files.filter((each) => existsSync(each))) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
}

/** Compressed once, as small as possible: the gateway only serves the files. */
async function pack(folder) {
  for (const file of listFiles(folder).filter((name) => PACKED.test(name))) {
    const content = readFileSync(file);
    writeFileSync(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
    writeFileSync(`${file}.br`, await promisify(brotliCompress)(content, { params }));
  }
}

function listFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes(`${sep}node_modules`))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await runScript(() => buildAlone(ROOT));
