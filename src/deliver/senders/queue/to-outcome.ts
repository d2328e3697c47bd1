import type { Published } from "../../../brokers/broker.ts";
import type { BrokerFault } from "../../../brokers/broker-fault.ts";
import { DELIVERED, failed, failedHere, refused, type Outcome } from "../../../domain/outcome.ts";

/** What became of a message, as it concerns its delivery. `unroutable` is what follows when nothing is bound to it. */
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
    case "not_found":
    case "not_allowed":
    case "different":
      // Of a broker that was emptied, or is not set up yet: what waits here is nobody's loss.
      return failed(message, { says: "ill" });
    case "lost":
    case "refused":
      // A queue that is full, for instance; or something with this one message.
      return failed(message, { says: "doubtful" });
  }
}
