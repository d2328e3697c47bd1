// `npm run test:nodes`: the tests and a start on other versions of Node, whose binaries npm installs into a temporary
// folder. With versions or test paths as arguments, only those: npm run test:nodes -- 24 test/unit
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { ensure, ROOT } from "./ensure.mjs";
import { installNode } from "./other-node.mjs";
import { run, runScript, ScriptFailure } from "./run.mjs";

const VERSIONS = ["22", "24", "26"];
const TESTS = ["test/unit/", "test/contract/", "test/integration/", "test/cli/"];
/** Starts what npm packs, which is what users run. */
const PROOFS = ["test/proofs/heavy/packed.test.ts"];

await runScript(async () => {
  const args = process.argv.slice(2);
  const versions = args.filter((arg) => /^\d+(\.\d+)*$/.test(arg));
  const tests = args.filter((arg) => !versions.includes(arg));
  // Prepared by the Node that runs this script: the others use the same packages and build.
  await ensure();
  const folder = mkdtempSync(join(tmpdir(), "posthorn-nodes-"));
  try {
    const failed = [];
    for (const version of versions.length > 0 ? versions : VERSIONS) {
      const node = await installNode(version, join(folder, version));
      const exitCode = tests.length > 0 ? await runTests(node, tests) : await runAll(node);
      if (exitCode > 128) return exitCode;
      process.stdout.write(`test:nodes: Node ${version} ${exitCode === 0 ? "ok" : "FAILED"}\n`);
      if (exitCode !== 0) failed.push(version);
    }
    if (failed.length > 0) throw new ScriptFailure(`the tests failed on Node ${failed.join(", ")}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function runAll(node) {
  return (await runTests(node, TESTS)) || runTests(node, PROOFS, { PROOFS: "middle" });
}

function runTests(node, tests, size = {}) {
  const env = {
    ...process.env,
    ...size,
    POSTHORN_TEST_READY: "1",
    // Commands that tests start by name, such as npm, run on it too.
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
  };
  return run(node, [join(ROOT, "scripts/test.mjs"), ...tests], { cwd: ROOT, env });
}
