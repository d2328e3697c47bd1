import { PosthornError } from "../../model/errors.ts";
import { faultError, type FaultReport } from "../commit/faults.ts";
import type { Damage } from "../port/reads.ts";

const MAX_KEPT = 100;

/** What was found to be damaged since the start. */
export interface Damages {
  note(description: string): void;
  /** Notes the damage that a call meets. */
  watch<T>(call: Promise<T>): Promise<T>;
  /** The error for a write that failed; notes the damage, if that is why. */
  toError(report: FaultReport): PosthornError;
  list(): readonly Damage[];
}

export function createDamages(): Damages {
  const found = new Set<string>();

  function note(description: string): void {
    if (found.size < MAX_KEPT) found.add(description);
  }

  function noteError(error: unknown): void {
    const damage = error instanceof PosthornError ? error.details?.["damage"] : undefined;
    if (typeof damage === "string") note(damage);
  }

  return {
    note,
    async watch(call) {
      try {
        return await call;
      } catch (error) {
        noteError(error);
        throw error;
      }
    },
    toError(report) {
      const error = faultError(report);
      noteError(error);
      return error;
    },
    list: () => [...found].map((description) => ({ description })),
  };
}
