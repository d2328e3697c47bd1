import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../../src/model/event.ts";
import { GATEWAY_EVENT_TYPES, isGatewayEventType } from "../../../src/model/pattern.ts";
import { eventTypeOf, findTime, findTimeInMs, identityOf } from "../../../src/sources/request-reading.ts";
import { createProviderKinds } from "../../../src/sources/kinds.ts";

const kindNames = createProviderKinds({ fetchText: () => Promise.reject(new Error("offline")) }).map(
  ({ name }) => name,
);

describe("the type of a provider's event", () => {
  it.each([
    [["github", "pull_request", "opened"], "github.pull_request.opened"],
    [["github", "push", undefined], "github.push"],
    [["shopify", "orders/create"], "shopify.orders.create"],
    [["paypal", "PAYMENT.CAPTURE.COMPLETED"], "paypal.payment.capture.completed"],
    [["linear", "IssueLabel", "create"], "linear.issue_label.create"],
    [["gitlab", "Merge Request", "open"], "gitlab.merge_request.open"],
    [["slack", undefined], "slack.unknown"],
    [["stripe", "..//"], "stripe.unknown"],
    [["stripe", "é ü!.paid"], "stripe.paid"],
    [["stripe", "v1.billing.meter-x"], "stripe.v1.billing.meter-x"],
  ] as const)("of %j is %s", ([kind, ...names], type) => {
    expect(eventTypeOf(kind, ...names)).toBe(type);
  });

  it("is always legal and never one of the gateway's own, whatever the provider says", () => {
    const name = fc.oneof(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc.constantFrom<string>(...GATEWAY_EVENT_TYPES, "\n", "..", "a\nb"),
      fc.constant(undefined),
    );
    fc.assert(
      fc.property(fc.constantFrom(...kindNames), fc.array(name, { maxLength: 3 }), (kind, names) => {
        const type = eventTypeOf(kind, ...names);
        expect(type).toMatch(new RegExp(EVENT_TYPE_PATTERN));
        expect(type.length).toBeLessThanOrEqual(EVENT_TYPE_MAX_LENGTH);
        expect(type.startsWith(`${kind}.`)).toBe(true);
        expect(isGatewayEventType(type)).toBe(false);
      }),
    );
  });
});

describe("an identity", () => {
  it("needs all of its parts", () => {
    expect(identityOf("a", "b")).toBe("a:b");
    expect(identityOf("a", undefined)).toBeUndefined();
    expect(identityOf("")).toBeUndefined();
  });

  it("is short and printable, and differs where its parts do", () => {
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const identity = identityOf(one);
        expect(identity).toMatch(/^[^\p{Cc}\p{Cs}]{1,255}$/u);
        expect(identity === identityOf(other)).toBe(one === other);
      }),
    );
  });
});

it("times are read as providers write them", () => {
  expect(findTime("1781524799")).toBe(1_781_524_799_000);
  expect(findTime("1781524799.755")).toBe(1_781_524_799_755);
  expect(findTime("2026-06-15T12:00:00Z")).toBe(Date.UTC(2026, 5, 15, 12));
  expect(["", "x", "-1", "1e9", undefined].map(findTime)).toEqual(Array.from({ length: 5 }));
  expect(findTimeInMs("1781524799123")).toBe(1_781_524_799_123);
  expect(["1.5", "12345678901234567890", undefined].map(findTimeInMs)).toEqual(Array.from({ length: 3 }));
});
