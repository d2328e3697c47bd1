import { eventGrid } from "../../../src/sources/event-grid.ts";
import { JSON_TYPE, SIGNED_AT, arrive, json, settingsOf, type SourceFixture } from "../source-fixture.ts";

const SECRET = "grid-1234567890abcdef";
const QUERY = `code=${SECRET}`;
const TOPIC = "/subscriptions/1/resourceGroups/a/providers/Microsoft.Storage/storageAccounts/b";

function event(more: object = {}): object {
  return {
    id: "831e1650-001e-001b-66ab-eeb76e069631",
    topic: TOPIC,
    subject: "/blobServices/default/containers/c/blobs/d.txt",
    eventType: "Microsoft.Storage.BlobCreated",
    eventTime: "2026-06-15T11:59:00.1234567Z",
    data: { api: "PutBlockList" },
    dataVersion: "",
    metadataVersion: "1",
    ...more,
  };
}

const VALIDATION = event({
  eventType: "Microsoft.EventGrid.SubscriptionValidationEvent",
  data: { validationCode: "512d38b6-c7b8-40c8-89fe-f46f9e9622b6", validationUrl: "https://rp.eventgrid.azure.net/x" },
});
const BODY = json([event(), event({ id: "2", eventType: "Microsoft.Storage.BlobDeleted" })]);

export const fixture: SourceFixture = {
  kind: eventGrid,
  settings: settingsOf("grid", [SECRET]),
  sign: (at, body = BODY) => arrive("grid", { at, body, headers: JSON_TYPE, query: QUERY }),
  expected: {
    type: "event-grid.microsoft.storage.blob_created",
    identity: `${TOPIC}:831e1650-001e-001b-66ab-eeb76e069631`,
  },
  handshakes: [
    {
      request: arrive("grid", { at: SIGNED_AT, body: json([VALIDATION]), headers: JSON_TYPE, query: QUERY }),
      answer: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: '{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}',
      },
    },
    {
      request: arrive("grid", {
        at: SIGNED_AT,
        method: "OPTIONS",
        query: QUERY,
        headers: { "webhook-request-origin": "eventgrid.azure.net", "webhook-request-rate": "10" },
      }),
      answer: {
        status: 200,
        headers: { allow: "POST", "webhook-allowed-origin": "eventgrid.azure.net", "webhook-allowed-rate": "*" },
      },
    },
  ],
  coversBody: false,
  forgeries: [
    { name: "no secret", request: (at) => arrive("grid", { at, body: BODY, headers: JSON_TYPE }) },
    {
      name: "another secret",
      request: (at) => arrive("grid", { at, body: BODY, headers: JSON_TYPE, query: `${QUERY}x` }),
    },
    {
      name: "a secret in another parameter",
      request: (at) => arrive("grid", { at, body: BODY, headers: JSON_TYPE, query: `token=${SECRET}` }),
    },
  ],
};
