import type { Published } from "../../queues/broker.ts";
import type { BrokerFault } from "../../queues/broker-fault.ts";
import { DELIVERED, failed, failedHere, refused, type Outcome } from "../../model/outcome.ts";

/** The outcome of a delivery for a published message. `unroutable` is the outcome when nothing is bound to its key. */
export function toOutcome(published: Published, unroutable: Outcome): Outcome {
  switch (published.outcome) {
    case "confirmed":
      return DELIVERED;
    case "unroutable":
      return unroutable;
    case "failed":
      return faultOutcome(published.fault);
  }
}

export function faultOutcome({ kind, message }: BrokerFault): Outcome {
  switch (kind) {
    case "closed":
      return failedHere(message);
    case "unreachable":
    case "wrong_credentials":
    case "missing_package":
      return failed(message, { result: "connection_error", says: "ill" });
    case "too_large":
      return refused(message, { deadReason: "too_large" });
    case "invalid":
      return refused(message, { result: "blocked", says: "nothing" });
    case "not_found":
    case "not_allowed":
    case "different":
      // The broker was emptied or is not set up yet: the delivery waits, and nothing is lost.
      return failed(message, { says: "ill" });
    case "lost":
    case "refused":
      // For example, the queue is full; or the problem concerns only this message.
      return failed(message, { says: "doubtful" });
  }
}
