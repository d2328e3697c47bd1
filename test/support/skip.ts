// Skips that say why. `npm test` prints the reason, and a missing service or tool is a failure where CI=true.
import type { TestContext } from "vitest";
import { isCi } from "../../scripts/test-tools.mjs";

declare module "vitest" {
  interface TaskMeta {
    skipReason?: string;
    missingService?: string;
  }
}

export function skipBecause(context: TestContext, reason: string): never {
  context.task.meta.skipReason = reason;
  context.skip(reason);
}

/** A service, a tool or a right of the machine that the test needs. */
export function skipWithoutService(context: TestContext, service: string, reason = `${service} is not there`): never {
  context.task.meta.missingService = service;
  if (isCi()) throw new Error(`missing here, where CI=true: ${service} (${reason})`);
  skipBecause(context, reason);
}
