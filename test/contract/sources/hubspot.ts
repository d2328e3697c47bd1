import { hubspot } from "../../../src/sources/hubspot.ts";
import { JSON_TYPE, arriveSigned, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy";
const BODY = json([
  {
    eventId: 1,
    subscriptionId: 12345,
    occurredAt: 1_781_524_799_000,
    subscriptionType: "contact.propertyChange",
    attemptNumber: 0,
    objectId: 123,
  },
  {
    eventId: 2,
    subscriptionId: 12345,
    occurredAt: 1_781_524_799_000,
    subscriptionType: "contact.creation",
    attemptNumber: 0,
    objectId: 124,
  },
]);

export const fixture: SourceFixture = {
  kind: hubspot,
  settings: settingsOf("hubspot", [SECRET]),
  sign: (at, body = BODY) => {
    const headers = { ...JSON_TYPE, "x-hubspot-signature-version": "v1" };
    return arriveSigned(hubspot, "hubspot", SECRET, { at, body, headers, query: "to=a%40b" });
  },
  expected: { type: "hubspot.contact.property_change", identity: "12345:1:123:1781524799000" },
  toleranceMs: 300_000,
  coversBody: true,
  signatureHeaders: ["x-hubspot-signature-v3", "x-hubspot-request-timestamp"],
};
