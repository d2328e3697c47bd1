// Bundles many source files into few for dist/: a start that loads 800 files spends half of its time finding and
// reading. Most packages are bundled too, with their licences beside them. Names are not changed, so that a stack trace
// can be read; source maps are beside the files. Usage: node scripts/bundle.mjs FILE; the names of the written files
// go to FILE as JSON.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import { rolldown } from "rolldown";
import { DISK_FULL } from "./build.mjs";
import { isDiskFull, runScript } from "./run.mjs";

/** Tests start gateways from it in separate processes; the health check of the image loads the configuration. */
const FOR_TESTS = ["gateway", "cli/failure", "cli/heap", "config/load", "telemetry/logger"];
const FOR_BENCH = [
  "cli/trial/load",
  "cli/trial/sink",
  "destinations/wire/address-guard",
  "destinations/wire/http-client",
  "model/ids",
  "model/event-search",
  "model/filter",
  "model/clock",
  "accept/router",
  "store/sqlite/open",
];
/** Modules that are imported from outside, by path under src/. All form one program: each module exists once. */
const ENTRIES = ["cli/main", ...FOR_TESTS, ...FOR_BENCH];
/** Thread modules, started by `new URL("./name-thread.js", import.meta.url)`. Each is a program of its own. */
const THREAD = /-thread\.ts$/;
const CHUNKS = "chunks";
const LICENCES = "THIRD-PARTY-LICENCES.txt";

/** Packages that are not bundled: those with parts that are not JavaScript, and those that only some users install. */
const PACKAGES = [/^@photostructure\/sqlite/, /^libxml2-wasm/, /^smartsheet/, /^@azure\//];
/** Fastify loads these only without our own compilers, and for `inject`. */
const NEVER_LOADED = ["@fastify/ajv-compiler", "@fastify/fast-json-stringify-compiler", "light-my-request"];

/** Writes the bundles to `folder` and resolves to the names of all files that belong there. */
async function bundle(root, folder) {
  const src = join(root, "src");
  const packages = new Map();
  const files = [];

  async function write(entries, chunkFolder, codeSplitting) {
    const build = await rolldown({
      input: Object.fromEntries(entries.map((name) => [name, join(src, `${name}.ts`)])),
      cwd: root,
      platform: "node",
      external: [...PACKAGES, ...NEVER_LOADED],
      tsconfig: false,
      plugins: [originalPlaces(src, chunkFolder)],
      experimental: { nativeMagicString: true, attachDebugInfo: "simple" },
      onLog: (level, log, report) => log.code === "INEFFECTIVE_DYNAMIC_IMPORT" || report(level, log),
    });
    const { output } = await build.write({
      dir: folder,
      format: "esm",
      sourcemap: true,
      comments: { legal: true, annotation: false, jsdoc: false },
      entryFileNames: "[name].js",
      chunkFileNames: posix.join(chunkFolder, "[name].js"),
      ...(codeSplitting !== undefined && { codeSplitting }),
    });
    await build.close();
    for (const { type, fileName, code, moduleIds } of output) {
      files.push(fileName);
      if (type !== "chunk") continue;
      if (code.includes("import.meta.url") && posix.dirname(fileName) !== chunkFolder) {
        throw new Error(`${fileName} uses import.meta.url, but is not in ${chunkFolder}`);
      }
      const escaped = escapeWideSigns(code, fileName);
      if (escaped !== code) writeFileSync(join(folder, fileName), escaped);
      for (const id of moduleIds) addPackage(packages, id);
    }
  }

  await write(ENTRIES, CHUNKS, { groups: groupByUse(src) });
  for (const thread of readdirSync(src, { recursive: true }).filter((name) => THREAD.test(name))) {
    const name = thread.split(sep).join("/").replace(/\.ts$/, "");
    await write([name], posix.dirname(name));
  }
  writeFileSync(join(folder, LICENCES), formatLicences(packages));
  return [...files, LICENCES];
}

/** A module that uses import.meta.url gets the URL that it would have as a file of its own. */
function originalPlaces(src, chunkFolder) {
  return {
    name: "original-places",
    transform: {
      filter: { code: /import\.meta\.url/ },
      handler(code, id, { magicString }) {
        if (!id.startsWith(src + sep)) return undefined;
        const place = relative(src, id).split(sep).join("/").replace(/\.ts$/, ".js");
        const path = posix.relative(chunkFolder, place);
        magicString.replaceAll(
          "import.meta.url",
          `new URL("${path.startsWith(".") ? path : `./${path}`}", import.meta.url).href`,
        );
        return { code: magicString };
      },
    },
  };
}

/**
 * V8 stores a file's text with two bytes for each character as soon as one character needs it: a few signs such as …
 * in messages would cost 6 MB. So they are escaped. Lines do not move, so the source map stays valid.
 */
function escapeWideSigns(code, fileName) {
  if (/\\[^\0-\xff]|String\.raw`[^`]*[^\0-\xff]/.test(code)) {
    throw new Error(`${fileName} has a character that cannot be escaped; write it as \\u and four digits`);
  }
  return code.replace(/[^\0-\xff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Four files for a start of the gateway: modules that every command needs, those that other commands share with it,
 * those needed before its threads start, and those loaded while they start. The bundler decides about all other
 * commands.
 */
function groupByUse(src) {
  const main = join(src, "cli/main.ts");
  const start = join(src, "cli/start.ts");
  let uses;

  function findUses(context) {
    const now = (id) => context.getModuleInfo(id)?.importedIds ?? [];
    const later = (id) => context.getModuleInfo(id)?.dynamicallyImportedIds ?? [];
    const every = reach([main], now);
    const commands = [...every].flatMap(later).filter((id) => id !== start);
    const [whole] = later(start);
    const others = reach(commands, (id) => [...now(id), ...later(id).filter((other) => other !== whole)]);
    const before = reach([start], now);
    const gateway = reach([whole], now);
    // This module waits for the command to end, so the command cannot import it.
    every.delete(main);
    return { every, others, before, gateway };
  }
  const group = (name, priority, belongs) => ({
    debugName: name,
    name: (id, context) => (belongs(id, (uses ??= findUses(context))) ? name : null),
    priority,
  });
  return [
    group("every-command", 4, (id, { every }) => every.has(id)),
    group("commands", 3, (id, { before, gateway, others }) => others.has(id) && (before.has(id) || gateway.has(id))),
    group("start", 2, (id, { before }) => before.has(id)),
    group("gateway", 1, (id, { gateway }) => gateway.has(id)),
  ];
}

function reach(roots, importsOf) {
  const reached = new Set();
  const left = [...roots];
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    if (reached.has(id)) continue;
    reached.add(id);
    left.push(...importsOf(id));
  }
  return reached;
}

function addPackage(packages, moduleId) {
  const [, folder] = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(moduleId) ?? [];
  if (folder === undefined || packages.has(folder)) return;
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file === undefined ? `Licence: ${license}` : readFileSync(join(folder, file), "utf8").trim();
  packages.set(folder, { title: `${name} ${version}`, text });
}

function formatLicences(packages) {
  const notes = [...packages.values()].sort((a, b) => (a.title < b.title ? -1 : 1));
  return notes.map(({ title, text }) => `${title}\n\n${text}\n`).join(`\n${"-".repeat(80)}\n\n`);
}

await runScript(async () => {
  const root = process.cwd();
  try {
    const files = await bundle(root, join(root, "dist"));
    writeFileSync(join(root, process.argv[2] ?? "dist/.bundled"), JSON.stringify(files));
  } catch (error) {
    if (isDiskFull(error)) return DISK_FULL;
    throw error;
  }
});
