import type { PartMakers } from "../../src/gateway/start.ts";

export interface BrokenPromises {
  synchronous?: "NORMAL" | "OFF";
  answerBeforeCommit?: boolean;
  /** With `answerBeforeCommit`: long before it. */
  commitLate?: boolean;
  /** What is published counts as confirmed, whatever the broker says. */
  confirmAtOnce?: boolean;
  forgetDedupe?: boolean;
  ignoreOrder?: boolean;
  checkLargeBodiesOnLoop?: boolean;
  /** No event knows how many gateways it has passed. */
  forgetHops?: boolean;
  /** Whoever follows the log is told that he has seen what is not visible yet. */
  followAhead?: boolean;
}

export function breakPromises(broken: BrokenPromises): PartMakers;
