// `npm run check -- size`: a budget of lines and files for each room of src/, so that the tree does not grow unnoticed.
// Raising one is a line here, in the pull request that needs it. Usage: node scripts/check-size.mjs [root]
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Lines and files, SQL included. */
const BUDGETS = {
  "gateway.ts": [250, 1],
  "plugin.ts": [100, 1],
  "plugins.ts": [10, 1],
  accept: [1500, 7],
  alerts: [1485, 9],
  api: [14000, 140],
  cli: [10400, 76],
  config: [2350, 17],
  deliver: [4800, 16],
  destinations: [9900, 117],
  gateway: [1200, 5],
  intake: [3850, 16],
  jobs: [1595, 10],
  model: [6700, 88],
  queues: [4600, 31],
  replays: [1280, 8],
  resources: [6650, 35],
  sandbox: [4140, 24],
  sources: [3050, 40],
  store: [12300, 101],
  telemetry: [1135, 9],
};
const MAX_LINES = 400;
/** Files over 400 lines. None is to be added. */
const LONG = ["destinations/wire/connections.ts"];

const src = join(process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url))), "src");
const complaints = [];
const sizes = new Map();
for (const entry of readdirSync(src, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(?:ts|sql)$/.test(entry.name)) continue;
  const path = relative(src, join(entry.parentPath, entry.name)).split(sep).join("/");
  const lines = readFileSync(join(src, path), "utf8").split("\n").length - 1;
  const room = path.split("/")[0];
  const [sum, files] = sizes.get(room) ?? [0, 0];
  sizes.set(room, [sum + lines, files + 1]);
  if (lines > MAX_LINES && !LONG.includes(path) && path.endsWith(".ts")) {
    complaints.push(`src/${path} has ${lines} lines; a file has at most ${MAX_LINES}: does it hold two things?`);
  }
}
for (const [room, [lines, files]] of sizes) {
  const [maxLines, maxFiles] = BUDGETS[room] ?? [0, 0];
  if (lines > maxLines)
    complaints.push(`src/${room} has ${lines} lines; its budget is ${maxLines} (scripts/check-size.mjs)`);
  if (files > maxFiles)
    complaints.push(`src/${room} has ${files} files; its budget is ${maxFiles} (scripts/check-size.mjs)`);
}
const total = [...sizes.values()].reduce(([a, b], [lines, files]) => [a + lines, b + files], [0, 0]);
process.stdout.write(
  [...complaints, `src/ has ${total[0]} lines in ${total[1]} files`].map((line) => `${line}\n`).join(""),
);
process.exitCode = complaints.length === 0 ? 0 : 1;
