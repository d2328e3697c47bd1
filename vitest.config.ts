import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { PROOFS, TESTS, WITH_N8N, type Project } from "./test/projects.mjs";
import { PROOF_SIZE } from "./test/support/proof-size.ts";

const MINUTE_MS = 60_000;

/** Long enough for the whole of a proof, beside others on a busy machine. */
const PATIENCE_MS = { short: 10 * MINUTE_MS, middle: 60 * MINUTE_MS, long: 300 * MINUTE_MS };

function chooseProjects(): readonly Project[] {
  if (process.env["N8N_COMMAND"] !== undefined) return WITH_N8N;
  return PROOF_SIZE === "short" ? TESTS : PROOFS;
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
    // Each project compiles for itself what it imports, unless another one has.
    experimental: { fsModuleCache: true },
    // One for each folder, with its own workers: a worker that runs everything gets slow, as what it has loaded grows.
    projects: chooseProjects().map(({ folder, isAlone }) => ({
      extends: true,
      test: {
        name: folder,
        include: [`test/${folder}/**/*.test.ts`],
        setupFiles: ["test/support/cpu-time.ts", "test/support/open-handles.ts"],
        maxWorkers: isAlone ? 1 : Math.max(2, availableParallelism()),
        fileParallelism: !isAlone,
        sequence: { groupOrder: isAlone ? 2 : 1 },
      },
    })),
  },
});
