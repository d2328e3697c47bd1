// A real n8n, for the proofs that want one: too large for a dependency (3 GB), so it is kept apart from the checkout
// and stays there for the next time.
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { withLock } from "./lock.mjs";
import { installNode, runNpm } from "./other-node.mjs";
import { ScriptFailure } from "./run.mjs";

/** The newest whose packages are all to be had. */
const N8N_VERSION = "2.41.1";
/** That version wants 24 or newer. */
const NODE_VERSION = "24";

const MANIFEST = {
  private: true,
  dependencies: { n8n: N8N_VERSION },
  // The one that it was made with; newer ones of its range want other packages.
  overrides: { linkedom: "0.18.13" },
};
/** The only ones that n8n needs of those that are built; of the others some cannot be built everywhere. */
const NATIVE_PACKAGES = ["sqlite3", "isolated-vm"];

/** Installs it if need be; resolves to its version, the file that is its command, and the Node that runs it. */
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
    // What is built is built for that Node, without asking anybody for its headers.
    npm_config_nodedir: headers,
  };
  for (const args of [
    ["install", "--ignore-scripts"],
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
