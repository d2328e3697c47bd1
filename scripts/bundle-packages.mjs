// Some packages consist of so many small files that loading them takes longer than anything they do: typebox alone is
// 680 modules, a third of a cold start and 20 MB of memory. They are made into a few files in dist/packages, and the
// built sources import those. Usage: node scripts/bundle-packages.mjs (in a process of its own, because of what the
// bundler leaves behind in memory)
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { run, runScript, ScriptFailure } from "./run.mjs";

const PACKAGE = "typebox";
const FOLDER = "dist/packages";
/** What is imported, and the file that stands for it. */
const ENTRIES = { typebox: "typebox", "typebox/value": "typebox-value" };
const STAMP = `${FOLDER}/.made-from`;

export function isBundle(root, file) {
  return file.startsWith(join(root, FOLDER) + sep);
}

export function areBundled(root) {
  return stampOf(root) === undefined || (existsSync(join(root, STAMP)) && readStamp(root) === stampOf(root));
}

/** Makes the bundles if they are not those of the installed version, and points the given built files to them. */
export async function useBundles(root, builtFiles) {
  if (stampOf(root) === undefined) return;
  if (!areBundled(root)) {
    const exitCode = await run(process.execPath, [fileURLToPath(import.meta.url)], { cwd: root });
    if (exitCode !== 0) throw new ScriptFailure(`the packages could not be bundled (exit code ${exitCode})`, exitCode);
  }
  for (const file of builtFiles) pointToBundles(root, file);
}

function pointToBundles(root, file) {
  const text = readFileSync(file, "utf8");
  const folder = relative(dirname(file), join(root, FOLDER)).split(sep).join("/");
  const pointed = text.replace(/(?<=\bfrom )"(typebox(?:\/value)?)"/g, (_, name) => {
    return `"${folder.startsWith(".") ? "" : "./"}${folder}/${ENTRIES[name]}.js"`;
  });
  if (pointed !== text) writeFileSync(file, pointed);
}

/** Undefined where the package is not installed. */
function stampOf(root) {
  const manifest = join(root, "node_modules", PACKAGE, "package.json");
  if (!existsSync(manifest)) return undefined;
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  return JSON.stringify({ version, ENTRIES });
}

function readStamp(root) {
  return readFileSync(join(root, STAMP), "utf8");
}

async function bundle(root) {
  const { build } = await import("vite");
  const input = Object.fromEntries(Object.entries(ENTRIES).map(([specifier, name]) => [name, specifier]));
  await build({
    root,
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: "warn",
    ssr: { noExternal: true, target: "node" },
    build: {
      ssr: true,
      outDir: FOLDER,
      emptyOutDir: true,
      minify: false,
      target: "node20",
      rolldownOptions: { input, output: { entryFileNames: "[name].js", chunkFileNames: "[name].js" } },
    },
  });
  copyFileSync(join(root, "node_modules", PACKAGE, "license"), join(root, FOLDER, `${PACKAGE}.license`));
  writeFileSync(join(root, STAMP), stampOf(root));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await runScript(() => bundle(process.cwd()));
