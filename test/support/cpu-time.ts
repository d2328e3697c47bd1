// Writes down how much CPU time a test file took, its child processes included, for the budgets of `npm test`.
import { appendFileSync, readFileSync } from "node:fs";
import { afterAll, expect } from "vitest";

/** Names the file to which each test file appends its line. */
const LOG = process.env["POSTHORN_TEST_CPU_LOG"];
const MS_PER_TICK = 10;

const before = cpuMs();

afterAll(() => {
  if (LOG === undefined) return;
  appendFileSync(LOG, `${JSON.stringify({ file: expect.getState().testPath, ms: cpuMs() - before })}\n`);
});

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + childrenMs();
}

/** Of children that have ended; only Linux tells. */
function childrenMs(): number {
  if (process.platform !== "linux") return 0;
  const stat = readFileSync("/proc/self/stat", "utf8");
  // The name of the process, in parentheses, may hold spaces; cutime and cstime are fields 16 and 17.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[13]) + Number(fields[14])) * MS_PER_TICK;
}
