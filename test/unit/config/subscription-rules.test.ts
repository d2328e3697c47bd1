import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkKindSettings, createDestinationKinds } from "../../../src/destinations/kinds.ts";
import type { SubscriptionInput } from "../../../src/model/subscription.ts";
import { checkSharedSettings } from "../../../src/model/subscription-rules.ts";

const kinds = createDestinationKinds();
const GOOD: SubscriptionInput = { name: "a", url: "https://a.example", events: ["order.*", "#"] };
const fieldsOf = (change: Partial<SubscriptionInput>) =>
  [...checkSharedSettings({ ...GOOD, ...change }), ...checkKindSettings({ ...GOOD, ...change }, kinds)].map(
    ({ field }) => field,
  );
const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString("base64")}`;

describe("the rules for a subscription", () => {
  it("have nothing against a good one", () => {
    expect(fieldsOf({})).toEqual([]);
    expect(fieldsOf({ retry_count: 3, retry_interval: 60, secret: secretOf(32), headers: { "X-A": "b c" } })).toEqual(
      [],
    );
    expect(fieldsOf({ retry_policy: "dairy", signature_header: "X-Webhook-Signature" })).toEqual([]);
  });

  it("reject both ways to say when to retry", () => {
    expect(fieldsOf({ retry_policy: "standard", retry_count: 1 })).toEqual(["retry_policy"]);
    expect(fieldsOf({ retry_policy: { delays_s: [1] }, retry_interval: 1 })).toEqual(["retry_policy"]);
  });

  it("name every pattern that cannot be read", () => {
    expect(fieldsOf({ events: ["a.b", "a..b", "a b", "*"] })).toEqual(["events[1]", "events[2]"]);
  });

  it("reject control characters and half characters in names", () => {
    for (const name of ["a\0b", "a\nb", "\u009b", "\ud800"]) expect(fieldsOf({ name })).toEqual(["name"]);
    expect(fieldsOf({ tenant_id: "t\0" })).toEqual(["tenant_id"]);
    expect(fieldsOf({ name: "Müller & Söhne 🚚", description: "two\nlines" })).toEqual([]);
    expect(fieldsOf({ description: "\0" })).toEqual(["description"]);
  });

  it("take secrets of 24 to 64 bytes and show none", () => {
    const canSign = [23, 24, 64, 65].map((bytes) => fieldsOf({ secret: secretOf(bytes) }).length === 0);
    expect(canSign).toEqual([false, true, true, false]);
    const [problem] = checkSharedSettings({ ...GOOD, secret: secretOf(23) });
    expect(problem?.message).not.toContain(secretOf(23).slice(6));
  });

  it("reject headers that the gateway sets, that move a request, or that are not headers", () => {
    const refused = [
      "Host",
      "content-LENGTH",
      "Proxy-Authorization",
      "Metadata-Flavor",
      "webhook-signature",
      "X-Webhook-ID",
    ];
    for (const name of refused) expect(fieldsOf({ headers: { [name]: "x" } })).toEqual([`headers.${name}`]);
    expect(fieldsOf({ signature_header: "X-Mine", headers: { "x-mine": "x" } })).toEqual(["headers.x-mine"]);
    expect(fieldsOf({ signature_header: "Host" })).toEqual(["signature_header"]);
    expect(fieldsOf({ headers: { "a b": "x", "": "x" } })).toEqual(["headers", "headers"]);
    expect(fieldsOf({ headers: { "X-A": "x", "x-a": "y" } })).toEqual(["headers.x-a"]);
  });

  it("never let a header value break out of its line", () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom("\r", "\n", "\0", "é"), fc.string(), (before, bad, after) => {
        expect(fieldsOf({ headers: { "X-A": before + bad + after } })).toEqual(["headers.X-A"]);
      }),
    );
  });
});
