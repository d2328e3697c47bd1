// `npm run check -- size`: a budget of lines and files for each room of src/, so that the tree does not grow unnoticed.
// Raising one is a line here, in the pull request that needs it. Usage: node scripts/check-size.mjs [root]
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Lines and files, SQL included. */
const BUDGETS = {
  "gateway.ts": [215, 1],
  "plugin.ts": [94, 1],
  "plugins.ts": [6, 1],
  accept: [1410, 7],
  alerts: [1485, 9],
  api: [11110, 56],
  cli: [9700, 72],
  config: [2380, 17],
  deliver: [4600, 20],
  destinations: [9010, 62],
  gateway: [1170, 5],
  intake: [3685, 16],
  jobs: [1595, 10],
  model: [6450, 46],
  queues: [4260, 32],
  replays: [1280, 8],
  resources: [6370, 32],
  sandbox: [4140, 24],
  sources: [2880, 38],
  store: [11095, 57],
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
