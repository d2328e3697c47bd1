import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const MINUTE_MS = 60_000;

interface Project {
  name: string;
  timeoutMs: number;
  /** Projects of one order run together; the next order starts when they are done. */
  order: number;
  maxWorkers: number;
}

const allCores = availableParallelism();
const halfOfTheCores = Math.max(1, Math.floor(allCores / 2));

const projects: Project[] = [
  { name: "unit", timeoutMs: 20_000, order: 1, maxWorkers: allCores },
  { name: "contract", timeoutMs: MINUTE_MS, order: 1, maxWorkers: allCores },
  { name: "integration", timeoutMs: MINUTE_MS, order: 1, maxWorkers: allCores },
  { name: "e2e", timeoutMs: 2 * MINUTE_MS, order: 2, maxWorkers: halfOfTheCores },
  { name: "security", timeoutMs: 5 * MINUTE_MS, order: 2, maxWorkers: halfOfTheCores },
  { name: "simulation", timeoutMs: 5 * MINUTE_MS, order: 2, maxWorkers: halfOfTheCores },
  { name: "crash", timeoutMs: 10 * MINUTE_MS, order: 3, maxWorkers: 1 },
];

export default defineConfig({
  test: {
    pool: "forks",
    execArgv: ["--import", new URL("./test/support/typescript-threads.mjs", import.meta.url).href],
    projects: projects.map(({ name, timeoutMs, order, maxWorkers }) => ({
      extends: true,
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        setupFiles: ["test/support/open-handles.ts"],
        testTimeout: timeoutMs,
        hookTimeout: timeoutMs,
        maxWorkers,
        fileParallelism: maxWorkers > 1,
        sequence: { groupOrder: order },
      },
    })),
  },
});
