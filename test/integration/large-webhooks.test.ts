import { createHash, createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SECRET = "a-secret-of-the-repository";
const MB = 1024 * 1024;
const YAML = `
sources:
  - { name: code, kind: github, secrets: [${SECRET}] }
  - { name: small, kind: github, secrets: [${SECRET}], max_bytes: 2097152 }
  - { name: plain }
`;

let gateway: TestGateway;
let sink: SinkServer;
beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway({ yaml: YAML }), openSinkServer()]);
  await gateway.subscribe({ name: "all", url: sink.url });
});
afterAll(() => Promise.all([gateway.close(), sink.close()]));

/** A push as large as they come, with a number that a float cannot hold. */
function newPush(byteLength: number, mark: string): Buffer {
  const head = `{"action":"opened","mark":"${mark}","number":12345678901234567890,"commits":["`;
  const body = Buffer.alloc(byteLength, "0123456789abcdef ", "latin1");
  body.write(head, "latin1");
  body.write('"]}', byteLength - 3, "latin1");
  return body;
}

function headersOf(body: Buffer, delivery: string) {
  return {
    "content-type": "application/json",
    "x-github-event": "pull_request",
    "x-github-delivery": delivery,
    "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
  };
}

function send(source: string, body: Buffer, headers: Record<string, string>, isChunked = false): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = isChunked ? {} : { "content-length": String(body.length) };
    const url = `${gateway.url}/webhook/${source}`;
    const sent = httpRequest(url, { method: "POST", headers: { ...headers, ...length } }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject);
    const write = () => {
      for (let at = 0; at < body.length; at += MB) sent.write(body.subarray(at, at + MB));
      sent.end();
    };
    // What is refused unread must not be sent: the connection ends before all of it is.
    if (headers["expect"] === undefined) write();
    else sent.on("continue", write).flushHeaders();
  });
}

const digest = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");

describe("a webhook of as many megabytes as its provider may send", () => {
  it("is taken and delivered unchanged: 24 MB to a source of GitHub, several at once, chunked or not", async () => {
    const bodies = ["one", "two", "three"].map((mark) => newPush(24 * MB, mark));
    const sent = bodies.map((body, index) => send("code", body, headersOf(body, `d-${index}`), index === 2));
    expect(await Promise.all(sent)).toEqual([200, 200, 200]);
    const received = await sink.received(3);
    expect(received.map(({ body }) => digest(body)).sort()).toEqual(bodies.map(digest).sort());
    expect(received.map(({ headers }) => headers["x-webhook-event"])).toEqual(
      bodies.map(() => "github.pull_request.opened"),
    );
    const [body = Buffer.alloc(0)] = bodies;
    expect(await send("code", body, headersOf(body, "d-0"))).toBe(200);
    await gateway.settled();
    expect(sink.requests).toHaveLength(3);
  });

  it("is rejected when another signs it, when it is no JSON, and when it is larger than that", async () => {
    const body = newPush(20 * MB, "forged");
    const headers = headersOf(body, "f-1");
    const forged = { ...headers, "x-hub-signature-256": `sha256=${"ab".repeat(32)}` };
    expect(await send("code", body, forged)).toBe(401);
    const broken = Buffer.from(body);
    broken[body.length - 1] = 0x20;
    expect(await send("code", broken, headersOf(broken, "f-2"))).toBe(400);
    const larger = newPush(25 * MB + 1, "larger");
    expect(await send("code", larger, { ...headersOf(larger, "f-3"), expect: "100-continue" })).toBe(413);
  });

  it("is what the source says where it says so, and two megabytes where nobody knows the sender", async () => {
    const body = newPush(2 * MB + 1, "beyond");
    const asked = { expect: "100-continue" };
    expect(await send("small", body, { ...headersOf(body, "s-1"), ...asked })).toBe(413);
    expect(await send("plain", body, { "content-type": "application/json", ...asked })).toBe(413);
    const shown = await Promise.all(
      ["code", "small", "plain"].map(async (name) => (await gateway.get(`/api/v1/sources/${name}`)).json["max_bytes"]),
    );
    expect(shown).toEqual([25 * MB, 2 * MB, 2 * MB]);
  });
});
