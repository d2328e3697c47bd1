// `npm run proofs:n8n`: the tests in test/proofs/n8n, against a real n8n that npm installs. Arguments go to vitest.
import { join } from "node:path";
import { ROOT } from "./ensure.mjs";
import { provideN8n } from "./provide-n8n.mjs";
import { run, runScript } from "./run.mjs";

await runScript(async () => {
  const { node, command } = await provideN8n();
  const env = { ...process.env, PROOFS: "middle", N8N_NODE: node, N8N_COMMAND: command };
  return run(process.execPath, [join(ROOT, "scripts/test.mjs"), ...process.argv.slice(2)], { cwd: ROOT, env });
});
