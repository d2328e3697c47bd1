// Writes down how much CPU time a test file took, its child processes included, for the budgets of `npm test`.
import { appendFileSync } from "node:fs";
import { afterAll, expect } from "vitest";
import { readProcess } from "./process-tree.ts";

/** Names the file to which each test file appends its line. */
const LOG = process.env["POSTHORN_TEST_CPU_LOG"];

const before = cpuMs();

afterAll(() => {
  if (LOG === undefined) return;
  appendFileSync(LOG, `${JSON.stringify({ file: expect.getState().testPath, ms: cpuMs() - before })}\n`);
});

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + (readProcess(process.pid)?.endedChildrenMs ?? 0);
}
