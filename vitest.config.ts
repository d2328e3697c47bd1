import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { PROOF_SIZE } from "./test/support/proof-size.ts";

const MINUTE_MS = 60_000;

/** Long enough for the whole of a proof, beside others on a busy machine. */
const PATIENCE_MS = { short: 10 * MINUTE_MS, middle: 60 * MINUTE_MS, long: 300 * MINUTE_MS };

interface Project {
  name: string;
  include: readonly string[];
  /** Projects of one order run together; the next order starts when they are done. */
  order: number;
  maxWorkers: number;
}

const allCores = Math.max(2, availableParallelism());
const folder = (name: string, order: number): Project => ({
  name,
  include: [`${name}/**/*`],
  order,
  maxWorkers: allCores,
});

/** `npm test`. Everything may run beside everything: no test judges how long something takes. */
const everything: readonly Project[] = [
  folder("unit", 1),
  folder("contract", 1),
  folder("integration", 1),
  folder("e2e", 2),
  folder("security", 2),
  folder("simulation", 2),
  folder("crash", 2),
  folder("browser", 2),
];

/** What has a middle-sized and a long form. Whatever judges time does so alone, when all else is done. */
const proofs: readonly Project[] = [
  {
    name: "counted",
    include: [
      "crash/broker-destinations",
      "crash/broker-sources",
      "crash/kill",
      "crash/kill-in-erasure",
      "crash/kill-in-retention",
      "crash/power-loss",
      "crash/stream",
      "crash/two-gateways",
      "e2e/bytes-unchanged",
      "languages/verifying",
      "e2e/n8n-proxy",
      "simulation/engine",
      "simulation/fallback",
      "simulation/outage",
      "unit/deliver/wire/answer-reader-beside-node",
    ],
    order: 1,
    maxWorkers: allCores,
  },
  {
    name: "timed",
    include: [
      "browser/interactive",
      "browser/million-events",
      "crash/graceful-stop",
      "crash/io-faults",
      "e2e/backlog",
      "e2e/fairness",
      "e2e/newcomer",
      "e2e/restart",
      "security/hostile-destinations",
      "security/hostile-senders",
      "security/hostile-validations",
    ],
    order: 2,
    maxWorkers: 1,
  },
];

/** `npm run proofs:n8n`, which says where n8n is. One after the other: n8n alone keeps a machine busy. */
const withN8n: readonly Project[] = [{ ...folder("n8n", 1), maxWorkers: 1 }];

function chooseProjects(): readonly Project[] {
  if (process.env["N8N_COMMAND"] !== undefined) return withN8n;
  return PROOF_SIZE === "short" ? everything : proofs;
}

export default defineConfig({
  test: {
    pool: "forks",
    // Most files need the same modules: a worker that has loaded them keeps them.
    isolate: false,
    globalSetup: ["test/support/fresh-build.mjs", "test/support/services/provider.ts"],
    execArgv: ["--import", new URL("./test/support/typescript-threads.mjs", import.meta.url).href],
    // Only what hangs is cut off, whatever else the machine does.
    testTimeout: PATIENCE_MS[PROOF_SIZE],
    hookTimeout: 10 * MINUTE_MS,
    expect: { poll: { timeout: 2 * MINUTE_MS, interval: 20 } },
    projects: chooseProjects().map(({ name, include, order, maxWorkers }) => ({
      extends: true,
      test: {
        name,
        include: include.map((files) => `test/${files}.test.ts`),
        setupFiles: ["test/support/open-handles.ts"],
        maxWorkers,
        fileParallelism: maxWorkers > 1,
        sequence: { groupOrder: order },
      },
    })),
  },
});
