// Prints the notes of a release from CHANGELOG.md; fails where the tag, the packages, the chart and the changelog do not
// name the same version. Usage: node scripts/release-notes.mjs v0.1.0
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runScript, ScriptFailure } from "./run.mjs";

const PACKAGES = ["package.json", "sdk/package.json"];
const CHART = "deploy/helm/posthorn/Chart.yaml";

await runScript(() => {
  const version = (process.argv[2] ?? "").replace(/^v/, "");
  const root = process.cwd();
  const read = (file) => readFileSync(join(root, file), "utf8");
  const named = [
    ...PACKAGES.map((file) => [file, JSON.parse(read(file)).version]),
    ...[...read(CHART).matchAll(/^(?:version|appVersion): (\S+)$/gm)].map(([, name]) => [CHART, name]),
  ];
  const other = named.find(([, name]) => name !== version);
  if (other !== undefined) throw new ScriptFailure(`the tag names ${version || "no version"}, ${other[0]} ${other[1]}`);
  const sections = read("CHANGELOG.md").split(/^## /m);
  const notes = sections.find((section) => section.startsWith(`${version}\n`))?.slice(version.length);
  if (notes === undefined) throw new ScriptFailure(`CHANGELOG.md has no section for ${version}`);
  process.stdout.write(`${notes.trim()}\n`);
});
