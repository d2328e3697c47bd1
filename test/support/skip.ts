// Skips that say why. `npm test` prints the reason, and a missing service is a failure where CI=true.
import type { TestContext } from "vitest";

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

export function skipWithoutService(context: TestContext, service: string): never {
  context.task.meta.missingService = service;
  skipBecause(context, `${service} is not there`);
}
