import type { PeriodicJob } from "./jobs.ts";
import type { SecretRotation } from "./secret-rotation.ts";

/** What the gateway does by itself, again and again. */
export const END_OVERLAPS = "end-overlaps";
const ROTATE_SECRETS = "rotate-secrets";

const DAY_MS = 86_400_000;

export function createGatewayJobs(parts: { rotation: SecretRotation }): PeriodicJob[] {
  const { rotation } = parts;
  return [
    {
      name: ROTATE_SECRETS,
      description: "Gives subscriptions whose secret is too old a new one beside it, where somebody is told",
      everyMs: DAY_MS,
      run: async ({ shouldStop }) => ({ summary: await rotation.rotateOld(shouldStop) }),
    },
    {
      name: END_OVERLAPS,
      description: "Retires the old secrets of rotations whose overlap is over",
      everyMs: DAY_MS,
      async run() {
        const { ended, nextEndAt } = await rotation.endOverlaps();
        return { summary: { ended }, nextRunAt: nextEndAt };
      },
    },
  ];
}
