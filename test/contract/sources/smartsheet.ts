import { createHmac } from "node:crypto";
import { createSmartsheetKind } from "../../../plugins/smartsheet/source-kind.ts";
import type { ArrivedRequest } from "../../../src/sources/source-kind.ts";
import type { SourceFixture } from "../source-fixture.ts";

const SECRET = "3qo29mvjou6xt5fujukjtwzhj0";
const BODY = Buffer.from(
  '{"nonce":"4b2ed20d-6f00-4b0c-8fac-082182aa9aac","timestamp":"2015-10-27T17:04:23.795+0000",' +
    '"webhookId":4503604829677444,"scope":"sheet","scopeObjectId":4509506114742148,"events":[{"objectType":"row",' +
    '"eventType":"created","id":7129509179746180,"userId":9007194052434043,"timestamp":"2015-10-27T17:03:15.000+0000"}]}',
);

const request = (at: number, body: Buffer, headers: Record<string, string>): ArrivedRequest => ({
  method: "POST",
  path: "/webhook/smartsheet",
  query: "",
  headers: { "content-type": "application/json", ...headers },
  body,
  receivedAt: at,
  url: "https://hooks.example.com/webhook/smartsheet",
});

export const fixture: SourceFixture = {
  kind: createSmartsheetKind({
    findSheets: () => new Map(),
    findWebhooks: () => undefined,
    noteStatus: () => Promise.resolve(),
  }),
  settings: { source: "smartsheet", secrets: [SECRET], options: {} },
  sign: (at, body = BODY) =>
    request(at, body, { "smartsheet-hmac-sha256": createHmac("sha256", SECRET).update(body).digest("hex") }),
  expected: { type: "smartsheet.row.created", identity: "ss_xbi0FLNBz5g4-DSiI58Bqt_G3fyrimQvNfZvdiCHZcg" },
  handshakes: [
    {
      request: request(0, Buffer.from('{"challenge":"a-b-c","webhookId":4503604829677444}'), {
        "smartsheet-hook-challenge": "a-b-c",
      }),
      answer: {
        status: 200,
        headers: { "content-type": "application/json", "smartsheet-hook-response": "a-b-c" },
        body: '{"smartsheetHookResponse":"a-b-c"}',
      },
    },
  ],
  coversBody: true,
};
