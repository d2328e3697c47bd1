/** `npm run simulate -- --seeds 5000 [--from 1]`: many seeds, for longer than a test may take. */
import { parseArgs } from "node:util";
import { describeFailure, describeRun, runSeeds } from "./seeds.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "5000" }, from: { type: "string", default: "1" } },
});
const from = Number(values.from);
const count = Number(values.seeds);
const summary = await runSeeds({
  from,
  count,
  onReport(report) {
    if (report.violations.length > 0) process.stdout.write(`${describeFailure(report)}\n`);
    const done = report.seed - from + 1;
    if (done % 100 === 0) process.stdout.write(`${done} of ${count}\n`);
  },
});
process.stdout.write(`${describeRun(summary)}\n`);
process.exitCode = summary.failed.length === 0 ? 0 : 1;
