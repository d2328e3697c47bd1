import { SAMPLE_KIND, SAMPLE_TOLERANCE_MS, signSample } from "../../support/sample-kind.ts";
import type { SourceFixture } from "../source-fixture.ts";

const SECRET = "a secret of the sample kind";
const URL_OF_IT = "https://hooks.example/webhook/sample";

const asked = {
  method: "GET",
  path: "/webhook/sample",
  query: "challenge=who%20are%20you",
  headers: {},
  body: Buffer.alloc(0),
  receivedAt: 0,
  url: URL_OF_IT,
};

export const fixture: SourceFixture = {
  kind: SAMPLE_KIND,
  settings: { source: "sample", secrets: [SECRET], options: {} },
  sign: (at, body = Buffer.from('{"id":9007199254740993,"event":"made"}')) => ({
    method: "POST",
    path: "/webhook/sample",
    query: "",
    headers: signSample(SECRET, at, body),
    body,
    receivedAt: at,
    url: URL_OF_IT,
  }),
  expected: { type: "sample.made", identity: "9007199254740993" },
  toleranceMs: SAMPLE_TOLERANCE_MS,
  handshakes: [
    {
      request: asked,
      answer: { status: 200, headers: { "content-type": "text/plain" }, body: "who are you" },
    },
  ],
  coversBody: true,
};
