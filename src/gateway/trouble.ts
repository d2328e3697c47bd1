import { PosthornError } from "../domain/errors.ts";
import { findOverload, type LoadBounds } from "../telemetry/overload.ts";
import type { Ground } from "./ground.ts";

/** Why nothing can be taken right now; asked for every request before its body is read. */
export function createFindTrouble(
  { disk, loopLag, work }: Pick<Ground, "disk" | "loopLag" | "work">,
  bounds: LoadBounds,
  isShuttingDown: () => boolean,
): () => PosthornError | undefined {
  return () => {
    if (isShuttingDown())
      return new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
    if (disk.isLow) return new PosthornError("store_full", "The gateway's disk is nearly full.", { retryAfterS: 5 });
    switch (findOverload(loopLag.run, work, bounds)) {
      case "memory":
        return new PosthornError(
          "overloaded",
          "The bodies that wait for their answers fill the memory set aside for them.",
          {
            retryAfterS: 1,
          },
        );
      case "lag":
        return new PosthornError("overloaded", "The gateway has run late for a while, and too many events wait.", {
          retryAfterS: 1,
        });
      default:
        return undefined;
    }
  };
}
