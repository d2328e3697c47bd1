import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { renderCommands } from "./reference/commands.ts";
import { renderConfigDocs, renderEnvExample } from "./reference/configuration.ts";
import { renderOwnEvents } from "./reference/own-events.ts";
import { renderRetryPolicies } from "./reference/retry-policies.ts";

/** Writes the generated pages of docs/reference/, and .env.example. */

const ROOT = new URL("../", import.meta.url);

const OUTPUTS: readonly { file: string; render: () => string | Promise<string> }[] = [
  { file: "docs/reference/configuration.md", render: renderConfigDocs },
  { file: "docs/reference/commands.md", render: renderCommands },
  { file: "docs/reference/own-events.md", render: renderOwnEvents },
  { file: "docs/reference/retry-policies.md", render: renderRetryPolicies },
  { file: ".env.example", render: renderEnvExample },
];

export async function findStaleFiles(root = ROOT): Promise<string[]> {
  const stale: string[] = [];
  for (const { file, render } of OUTPUTS) {
    if (readOrUndefined(new URL(file, root)) !== (await render())) stale.push(file);
  }
  return stale;
}

function readOrUndefined(file: URL): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) {
    const stale = await findStaleFiles();
    for (const file of stale) console.error(`${file} is out of date; run \`tsx scripts/write-reference.ts\``);
    process.exitCode = stale.length > 0 ? 1 : 0;
  } else {
    for (const { file, render } of OUTPUTS) writeFileSync(new URL(file, ROOT), await render());
  }
}
