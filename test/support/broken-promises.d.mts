import type { PartMakers } from "../../src/gateway/options.ts";

export interface BrokenPromises {
  synchronous?: "NORMAL" | "OFF";
  answerBeforeCommit?: boolean;
  forgetDedupe?: boolean;
  ignoreOrder?: boolean;
  checkLargeBodiesOnLoop?: boolean;
  /** No event knows how many gateways it has passed. */
  forgetHops?: boolean;
}

export function breakPromises(broken: BrokenPromises): PartMakers;
