// Installs a real n8n for the proofs that need one. It is too large for a dependency (3 GB), so it is kept outside of
// the checkout and stays there for the next run.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { withLock } from "./lock.mjs";
import { installNode, runNpm } from "./other-node.mjs";
import { ScriptFailure } from "./run.mjs";

/** The newest version whose packages are all available. */
const N8N_VERSION = "2.41.1";
/** Two days after its release: packages that came later may need others that do not exist yet. */
const RELEASED_BEFORE = "2026-09-25";
/** That version needs Node 24 or newer. */
const NODE_VERSION = "24";

const MANIFEST = {
  private: true,
  dependencies: { n8n: N8N_VERSION },
  // The version that it was built with; newer ones in its range need other packages.
  overrides: { linkedom: "0.18.13" },
};
/** The only packages with build scripts that n8n needs; some of the others cannot be built everywhere. */
const NATIVE_PACKAGES = ["sqlite3", "isolated-vm"];

/** Installs n8n if necessary; resolves to its version, the file of its command, and the Node that runs it. */
export async function provideN8n() {
  const folder = join(cacheFolder(), `n8n-${N8N_VERSION}`);
  const stamp = join(folder, ".complete");
  const node = join(folder, "node/node_modules/node/bin/node");
  const provided = { version: N8N_VERSION, node, command: join(folder, "node_modules/n8n/bin/n8n") };
  if (existsSync(stamp)) return provided;
  mkdirSync(dirname(folder), { recursive: true });
  const onWait = () => process.stderr.write("posthorn: waiting for another process to install n8n …\n");
  await withLock(
    `${folder}.lock`,
    async () => {
      if (existsSync(stamp)) return;
      process.stderr.write(`posthorn: installing n8n ${N8N_VERSION} into ${folder} (3 GB, some minutes) …\n`);
      rmSync(folder, { recursive: true, force: true });
      await installN8n(folder);
      writeFileSync(stamp, "");
    },
    onWait,
  );
  return provided;
}

async function installN8n(folder) {
  const node = await installNode(NODE_VERSION, join(folder, "node"));
  writeFileSync(join(folder, "package.json"), JSON.stringify(MANIFEST));
  const headers = join(dirname(node), `../node_modules/node-${process.platform}-${process.arch}`);
  const env = {
    ...process.env,
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    // Native parts are built for that Node, without downloading its headers.
    npm_config_nodedir: headers,
  };
  for (const args of [
    ["install", "--ignore-scripts", `--before=${RELEASED_BEFORE}`],
    ["rebuild", ...NATIVE_PACKAGES],
  ]) {
    const exitCode = await runNpm(args, { cwd: folder, env });
    if (exitCode !== 0) throw new ScriptFailure(`npm ${args[0]} of n8n failed with exit code ${exitCode}`, exitCode);
  }
}

function cacheFolder() {
  const base = process.env.XDG_CACHE_HOME;
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "posthorn");
}
