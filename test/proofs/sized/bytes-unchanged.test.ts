import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createOddBodies, type OddBody } from "../../support/odd-bodies.ts";
import { sized } from "../../support/proof-size.ts";
import { count, report } from "../../support/report.ts";
import { openSinkServer, type SinkRequest, type SinkServer } from "../../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../../support/test-gateway.ts";
import { verifyPlain, verifyStandard } from "../../support/verify-signature.ts";

/** R10. The long run is `PROOFS=long npm test -- test/proofs/sized/bytes-unchanged.test.ts`. */
const BODIES = sized({ short: 600, middle: 3000, long: 100_000 });
const AT_ONCE = 50;
const SECRET = `whsec_${Buffer.alloc(32, 3).toString("base64")}`;

describe("the bytes of a body", () => {
  let gateway: TestGateway;
  let raw: SinkServer;
  let wrapped: SinkServer;
  const sent = new Map<string, OddBody>();
  const seed = Number(process.env["FUZZ_SEED"] ?? randomBytes(4).readUInt32BE());

  beforeAll(async () => {
    [gateway, raw, wrapped] = await Promise.all([startTestGateway(), openSinkServer(), openSinkServer()]);
    const events = ["webhook.fuzz", "fuzz.published"];
    await gateway.subscribe({ name: "raw", url: raw.url, events, format: "raw", secret: SECRET });
    await gateway.subscribe({ name: "envelope", url: wrapped.url, events, format: "envelope", secret: SECRET });
  });
  afterAll(() => Promise.all([gateway.close(), raw.close(), wrapped.close()]));

  const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

  /** The bytes of `data`, cut out of an envelope whose other members stand before it. */
  function dataOf(envelope: Buffer, name = "data"): Buffer {
    const mark = `,"${name}":`;
    const at = envelope.indexOf(mark);
    return envelope.subarray(at + mark.length, envelope.length - 1);
  }

  // shows: A3
  it(
    `arrive as they came in, ${count(BODIES)} odd ones; so do signatures over them`,
    { timeout: 3_600_000 },
    async () => {
      const next = createOddBodies(createSeededRandom(seed));
      for (let from = 0; from < BODIES; from += AT_ONCE) {
        const bodies = Array.from({ length: Math.min(AT_ONCE, BODIES - from) }, next);
        await Promise.all(
          bodies.map(async (one) => {
            const headers: Record<string, string> =
              one.contentType === undefined ? {} : { "content-type": one.contentType };
            const answer = await gateway.request("POST", "/webhook/fuzz", { body: one.body, headers });
            expect([
              answer.status,
              answer.status === 202 ? "" : `${answer.text} seed ${seed} ${one.body.toString("base64")}`,
            ]).toEqual([202, ""]);
            sent.set(String(answer.json["event_id"]), one);
          }),
        );
      }
      await gateway.settled(600_000);

      const changedRaw = findChangedRaw(raw.requests);
      const changedWrapped = findChangedWrapped(wrapped.requests);
      expect([raw.requests.length, wrapped.requests.length, sent.size]).toEqual([BODIES, BODIES, BODIES]);
      report(
        `R10 body bytes changed end to end: ${changedRaw.length} raw, ${changedWrapped.length} in envelopes, of ${count(BODIES)} (seed ${seed})`,
      );
      expect([changedRaw, changedWrapped, findWronglySigned([...raw.requests, ...wrapped.requests])]).toEqual([
        [],
        [],
        [],
      ]);
    },
  );

  const idOf = ({ headers }: SinkRequest) => String(headers["webhook-id"]);

  function findChangedRaw(requests: readonly SinkRequest[]): SinkRequest[] {
    return requests.filter((request) => {
      const origin = sent.get(idOf(request));
      return (
        origin === undefined ||
        hash(request.body) !== hash(origin.body) ||
        request.headers["content-type"] !== (origin.contentType ?? "application/octet-stream")
      );
    });
  }

  function findChangedWrapped(requests: readonly SinkRequest[]): SinkRequest[] {
    return requests.filter((request) => {
      const origin = sent.get(idOf(request));
      return origin === undefined || !isSame(request.body, origin);
    });
  }

  function findWronglySigned(requests: readonly SinkRequest[]): SinkRequest[] {
    return requests.filter(({ headers, body }) => {
      const standard = verifyStandard(
        SECRET,
        String(headers["webhook-id"]),
        String(headers["webhook-timestamp"]),
        body,
      );
      return headers["x-webhook-signature"] !== verifyPlain(SECRET, body) || headers["webhook-signature"] !== standard;
    });
  }

  /** Whether an envelope can be read, and holds exactly what came in. */
  function isSame(envelope: Buffer, { body, kind }: OddBody): boolean {
    const read = parseEnvelope(envelope);
    if (read === undefined) return false;
    if (kind === "json") {
      const start = body.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? 3 : 0;
      return dataOf(envelope).equals(body.subarray(start));
    }
    if (body.length === 0) return read.data === null;
    if (read.data_base64 !== undefined) return Buffer.from(read.data_base64, "base64").equals(body);
    return typeof read.data === "string" && Buffer.from(read.data).equals(body);
  }

  function parseEnvelope(envelope: Buffer): { data?: unknown; data_base64?: string } | undefined {
    try {
      return JSON.parse(envelope.toString()) as { data?: unknown; data_base64?: string };
    } catch {
      return undefined;
    }
  }

  it("is a test that can fail: one flipped byte is found, in a raw body and in an envelope", () => {
    const flip = (request: SinkRequest, at: number): SinkRequest => {
      const body = Buffer.from(request.body);
      body.writeUInt8(body.readUInt8(at) ^ 1, at);
      return { ...request, body };
    };
    /** The first byte of the body in an envelope: of a text, after its quote. */
    const placeOf = (request: SinkRequest) => {
      const origin = sent.get(idOf(request));
      const value = request.body.indexOf('":', request.body.indexOf(',"data') + 2) + 2;
      return origin?.kind === "json" || origin?.body.length === 0 ? value : value + 1;
    };
    const some = <Item>(list: readonly Item[]) => list.slice(0, 600);
    const flippedRaw = some(raw.requests)
      .filter(({ body }) => body.length > 0)
      .map((request) => flip(request, Math.floor(request.body.length / 2)));
    const flippedWrapped = some(wrapped.requests).map((request) => flip(request, placeOf(request)));
    expect(flippedRaw.length).toBeGreaterThan(300);
    expect(findChangedRaw(flippedRaw)).toHaveLength(flippedRaw.length);
    expect(findChangedWrapped(flippedWrapped)).toHaveLength(flippedWrapped.length);
    expect(findWronglySigned([...flippedRaw, ...flippedWrapped])).toHaveLength(
      flippedRaw.length + flippedWrapped.length,
    );
  });

  it("of a published payload arrive as they were written, also those of a batch", async () => {
    const next = createOddBodies(createSeededRandom(seed + 1));
    const payloads = Array.from({ length: 800 }, next)
      .filter(({ kind, body }) => kind === "json" && body.toString().trimStart().startsWith("{"))
      .map(({ body }) => body.toString().trim());
    expect(payloads.length).toBeGreaterThan(50);
    const [before, beforeWrapped] = [raw.requests.length, wrapped.requests.length];
    const item = (payload: string, n: number) =>
      ` {"payload" :\t${payload} , "event_type":"fuzz.published","event_id":"pub-${seed}-${n}"}`;
    const body = `[${payloads.map(item).join(",")}]`;
    const answer = await gateway.request("POST", "/api/v1/events", {
      body,
      headers: { "content-type": "application/json" },
    });
    expect(answer.status).toBe(202);
    await gateway.settled();
    const indexOf = ({ headers }: SinkRequest) => Number(String(headers["webhook-id"]).split("-").at(-1));
    const arrived = raw.requests.slice(before);
    expect(arrived).toHaveLength(payloads.length);
    for (const request of arrived) expect(request.body.toString()).toBe(payloads[indexOf(request)]);
    for (const request of wrapped.requests.slice(beforeWrapped)) {
      expect(dataOf(request.body).toString()).toBe(payloads[indexOf(request)]);
    }
  });

  it("of large bodies, and of those that wait over a restart, are the same", async () => {
    const before = raw.requests.length;
    raw.answerWith({ status: 503 });
    const bodies = [randomBytes(2_097_152), randomBytes(16_384), randomBytes(16_385), randomBytes(300_000)];
    const headers = { "content-type": "application/octet-stream" };
    for (const body of bodies) expect((await gateway.webhook("fuzz", new Uint8Array(body), headers)).status).toBe(202);
    await raw.received(before + 1);
    await gateway.restart();
    raw.answerWith({ status: 200 });
    gateway.moveClock(60_000);
    const subscriptions = (await gateway.get("/api/v1/deliveries?status=pending")).json["data"] as { id: string }[];
    for (const { id } of subscriptions) await gateway.post(`/api/v1/deliveries/${id}/retry`);
    await gateway.settled();
    const hashes = new Set(raw.requests.slice(before).map(({ body }) => hash(body)));
    expect(hashes).toEqual(new Set(bodies.map(hash)));
  });
});
