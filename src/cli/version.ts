import { VERSION } from "../config/version.ts";
import { printFacts, printJson } from "./output.ts";

export function runVersion({ json = false }: { json?: boolean }): void {
  const { version: node, platform, arch } = process;
  if (json) return printJson({ posthorn: VERSION, node, platform, arch });
  printFacts([
    ["posthorn", VERSION],
    ["node", `${node} on ${platform} ${arch}`],
  ]);
}
