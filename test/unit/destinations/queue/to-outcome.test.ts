import { describe, expect, it } from "vitest";
import { BrokerFault } from "../../../../src/queues/broker-fault.ts";
import { faultOutcome } from "../../../../src/destinations/queue/sender.ts";

describe("a fault of a broker", () => {
  it.each(["not_found", "not_allowed", "different"] as const)(
    "is tried again and says that the target is ill: %s",
    (kind) => {
      expect(faultOutcome(new BrokerFault(kind, "no such queue"))).toMatchObject({
        kind: "failed",
        says: "ill",
        error: "no such queue",
      });
    },
  );

  it("is a dead letter where it is about the message for good", () => {
    const outcome = faultOutcome(new BrokerFault("too_large", "10 MB"));
    expect(outcome).toMatchObject({ kind: "refused", deadReason: "too_large" });
  });
});
