import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openRawSocket, rawRequest, type RawAnswer, type RawSocket } from "../support/raw-socket.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const MAX_BYTES = 10_000;
const YAML = `
limits:
  max_body_bytes: ${MAX_BYTES}
  max_connections: 30
`;
const IMPATIENT = `
limits:
  headers_timeout_s: 1
  request_timeout_s: 2
`;

describe("the server's limits", () => {
  let gateway: TestGateway;
  let sockets: RawSocket[] = [];

  beforeAll(async () => {
    gateway = await startTestGateway({ yaml: YAML });
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
  });
  afterAll(() => gateway.close());

  async function open(to: TestGateway = gateway): Promise<RawSocket> {
    const socket = await openRawSocket(to.port);
    sockets.push(socket);
    return socket;
  }

  async function countEvents(source: string): Promise<number> {
    return ((await gateway.get(`/api/v1/events?source=${source}`)).json["data"] as unknown[]).length;
  }

  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const CHUNKED = "host: gateway.test\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";

  describe("on the size of a body", () => {
    it("takes a body of exactly the cap, declared or in chunks", async () => {
      const socket = await open();
      const body = "x".repeat(MAX_BYTES);
      socket.write(rawRequest("/webhook/cap", body, { "content-type": "text/plain" }));
      expect((await socket.answer()).status).toBe(202);
      socket.write(
        `POST /webhook/cap HTTP/1.1\r\n${CHUNKED}`,
        chunk(body.slice(0, 9000)),
        chunk(body.slice(9000)),
        "0\r\n\r\n",
      );
      const answer = await socket.answer();
      expect(answer.status).toBe(202);
      expect(await gateway.event(String(answer.json["event_id"]))).toMatchObject({ size: MAX_BYTES, payload: body });
    });

    it("rejects a declared length over the cap before anything is sent", async () => {
      const socket = await open();
      socket.write(`POST /webhook/declared HTTP/1.1\r\nhost: a\r\ncontent-length: ${MAX_BYTES + 1}\r\n\r\n`);
      const answer = await socket.answer();
      expect([answer.status, answer.json["code"], answer.json["max_bytes"]]).toEqual([413, "too_large", MAX_BYTES]);
      expect(answer.headers["connection"]).toBe("close");
      await socket.closed();
      expect(await countEvents("declared")).toBe(0);
    });

    // shows: B37
    it("counts chunks and rejects as soon as there is one byte too many; nothing of it is kept", async () => {
      const socket = await open();
      socket.write(`POST /webhook/chunked HTTP/1.1\r\n${CHUNKED}`, chunk("x".repeat(MAX_BYTES)));
      socket.write(chunk("y"));
      const answer = await socket.answer();
      expect([answer.status, answer.json["code"]]).toEqual([413, "too_large"]);
      await socket.closed();
      expect(await countEvents("chunked")).toBe(0);
      await until(async () => (await gateway.rejected("chunked"))[0]?.cause === "too_large");
    });

    it("lets a sender that goes on sending read the rejection", async () => {
      for (let round = 0; round < 10; round++) {
        const socket = await open();
        socket.write(
          `POST /webhook/eager HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n`,
          Buffer.alloc(3_000_000, "x"),
        );
        expect((await socket.answer()).status).toBe(413);
        await socket.closed();
      }
      const answer = await gateway.webhook("eager", "x".repeat(5_000_000), { "content-type": "text/plain" });
      expect(answer.status).toBe(413);
    });

    // shows: C54
    it("has a cap of its own for published events and for the rest of the API", async () => {
      const large = { event_type: "a.b", payload: { text: "x".repeat(1_048_576) } };
      const published = await gateway.publish(large);
      expect([published.status, published.json["code"], published.json["field"]]).toEqual([
        413,
        "too_large",
        "payload",
      ]);
      const socket = await open();
      const key = `authorization: Bearer ${ADMIN_KEY}\r\n`;
      socket.write(`POST /api/v1/events HTTP/1.1\r\nhost: a\r\n${key}content-length: 16777217\r\n\r\n`);
      expect((await socket.answer()).status).toBe(413);
      const subscription = await gateway.post("/api/v1/subscriptions", { name: "x".repeat(1_100_000) });
      expect([subscription.status, subscription.json["code"]]).toEqual([413, "too_large"]);
      const many = await gateway.publish(Array.from({ length: 1001 }, () => ({ event_type: "a.b", payload: {} })));
      expect([many.status, many.json["max_items"]]).toEqual([413, 1000]);
    });
  });

  describe("on what is a request", () => {
    it.each([
      ["both", "content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
      ["both, the other way round", "transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n"],
      ["two lengths", "content-length: 5\r\ncontent-length: 6\r\n\r\nabcde"],
    ])("rejects Content-Length with Transfer-Encoding: %s", async (_, rest) => {
      const socket = await open();
      socket.write(`POST /webhook/smuggled HTTP/1.1\r\nhost: a\r\n${rest}`);
      const answer = await socket.answer();
      expect([answer.status, answer.json["code"]]).toEqual([400, "ambiguous_length"]);
      expect(answer.headers["content-type"]).toBe("application/problem+json");
      await socket.closed();
      expect(await countEvents("smuggled")).toBe(0);
    });

    it.each([
      ["a length that is no number", "POST /webhook/odd HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n", 400],
      [
        "a transfer encoding that is not known",
        "POST /webhook/odd HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n",
        415,
      ],
      ["NUL in a header", "POST /webhook/odd HTTP/1.1\r\nhost: a\r\nwebhook-id: a\0b\r\n\r\n", 400],
      ["a bare line feed in a header", "POST /webhook/odd HTTP/1.1\r\nhost: a\r\nx-a: b\n c\r\n\r\n", 400],
      ["no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400],
      ["a chunk size that is no number", `POST /webhook/odd HTTP/1.1\r\n${CHUNKED}zz\r\n`, 400],
      ["headers without an end", `POST /webhook/odd HTTP/1.1\r\nhost: a\r\nx-a: ${"x".repeat(20_000)}`, 431],
      ["a line without an end", `POST /webhook/${"x".repeat(20_000)}`, 431],
    ])("rejects %s and closes", async (_, text, status) => {
      const socket = await open();
      socket.write(Buffer.from(text, "latin1"));
      const answer = await socket.answer();
      expect(answer.status).toBe(status);
      expect(answer.headers["content-type"]).toBe("application/problem+json");
      await socket.closed();
      expect(await countEvents("odd")).toBe(0);
    });

    it.each([
      ["two hosts", "POST /webhook/odd HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nHost: b\r\n\r\n{}"],
      ["the same host twice", "POST /webhook/odd HTTP/1.1\r\nhost: a\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}"],
      ["two hosts on another route", "GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"],
      ["no host", "POST /webhook/odd HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}"],
      [
        "chunks in HTTP/1.0",
        "POST /webhook/odd HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
      ],
      ["chunks in HTTP/1.0 on another route", "GET /health HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ])("rejects %s, which a proxy may read in another way, and closes", async (_, text) => {
      const socket = await open();
      socket.write(text);
      expect((await socket.answer()).status).toBe(400);
      await socket.closed();
      expect(await countEvents("odd")).toBe(0);
    });

    it("takes one host, and HTTP/1.0 with a length", async () => {
      const socket = await open();
      socket.write(rawRequest("/webhook/plain", "{}", { "content-type": "application/json" }));
      expect((await socket.answer()).status).toBe(202);
      const old = await open();
      old.write(
        "POST /webhook/plain HTTP/1.0\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
      );
      expect((await old.answer()).status).toBe(202);
    });

    it("rejects an expectation that is not known", async () => {
      const socket = await open();
      socket.write("POST /webhook/odd HTTP/1.1\r\nhost: a\r\nexpect: a-miracle\r\ncontent-length: 2\r\n\r\n{}");
      expect((await socket.answer()).status).toBe(417);
      expect(await countEvents("odd")).toBe(0);
    });
  });

  describe("on time", () => {
    let impatient: TestGateway;
    beforeAll(async () => {
      impatient = await startTestGateway({ yaml: IMPATIENT });
    });
    afterAll(() => impatient.close());

    it("answers 408 when the headers do not come", async () => {
      const socket = await open(impatient);
      socket.write("POST /webhook/slow HTTP/1.1\r\nhost: a\r\n");
      const answer = await socket.answer();
      expect([answer.status, answer.json["code"]]).toEqual([408, "request_timeout"]);
      await socket.closed();
    });

    it("answers 408 when the body does not come, however it drips", async () => {
      const socket = await open(impatient);
      socket.write("POST /webhook/slow HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n");
      const drip = setInterval(() => socket.write("x"), 50);
      const answer = await socket.answer();
      clearInterval(drip);
      expect([answer.status, answer.json["code"]]).toEqual([408, "request_timeout"]);
      await socket.closed();
      expect((await impatient.get("/api/v1/events?source=slow")).json["data"]).toEqual([]);
    });

    it("frees the connection although the sender neither reads nor closes", async () => {
      const socket = await open(impatient);
      socket.socket.pause();
      socket.write("POST /webhook/slow HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n");
      // A closed connection answers a write with a reset; a half-open one takes it.
      const drip = setInterval(() => socket.write("x"), 50);
      await new Promise((resolve) => socket.socket.once("close", resolve));
      clearInterval(drip);
      expect(socket.socket.destroyed).toBe(true);
    });
  });

  describe("on asking first", () => {
    const ask = (path: string, length: number) =>
      `POST ${path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-type: application/json\r\n` +
      `authorization: Bearer ${ADMIN_KEY}\r\ncontent-length: ${length}\r\n\r\n`;

    it("says go on to a body that it will take", async () => {
      const subscription = '{"name":"asked","url":"http://127.0.0.1:9/","events":["none.at.all"]}';
      for (const [path, body, status] of [
        ["/webhook/asks", "{}", 202],
        ["/api/v1/events", '{"event_type":"a.b","payload":{}}', 202],
        ["/api/v1/subscriptions", subscription, 201],
      ] as const) {
        const socket = await open();
        socket.write(ask(path, body.length));
        expect([path, (await socket.next()).status]).toEqual([path, 100]);
        socket.write(body);
        expect([path, (await socket.answer()).status]).toEqual([path, status]);
      }
    });

    it("says no at once to one that it will not take", async () => {
      for (const [path, length, status] of [
        ["/webhook/asks", MAX_BYTES + 1, 413],
        ["/webhook/a..b", 2, 404],
        ["/api/v1/events", 20_000_000, 413],
      ] as const) {
        const socket = await open();
        socket.write(ask(path, length));
        expect([path, (await socket.next()).status]).toEqual([path, status]);
        await socket.closed();
      }
    });
  });

  describe("on one connection", () => {
    it("goes on after a rejection whose body was read", async () => {
      const socket = await open();
      socket.write(rawRequest("/webhook/kept", "{broken", { "content-type": "application/json" }));
      expect((await socket.answer()).status).toBe(400);
      socket.write(rawRequest("/webhook/kept", "{}", { "content-type": "application/json" }));
      expect((await socket.answer()).status).toBe(202);
      socket.write("GET /api/v1/events/none HTTP/1.1\r\nhost: a\r\n\r\n");
      expect((await socket.answer()).status).toBe(401);
      socket.write(rawRequest("/webhook/kept", "{}", { "content-type": "application/json" }));
      expect((await socket.answer()).status).toBe(202);
    });

    it("answers what is sent without waiting in the order sent", async () => {
      const socket = await open();
      const bodies = Array.from({ length: 50 }, (_, i) => (i % 5 === 0 ? "{broken" : `{"n":${i}}`));
      socket.write(
        bodies.map((body) => rawRequest("/webhook/piped", body, { "content-type": "application/json" })).join(""),
      );
      const answers: RawAnswer[] = [];
      for (const _ of bodies) answers.push(await socket.answer());
      expect(answers.map(({ status }) => status)).toEqual(bodies.map((body) => (body === "{broken" ? 400 : 202)));
      const stored = answers.filter(({ status }) => status === 202).map(({ json }) => String(json["event_id"]));
      const payloads: unknown[] = [];
      for (const id of stored) payloads.push((await gateway.event(id))["payload"]);
      expect(payloads.map((payload) => JSON.stringify(payload))).toEqual(bodies.filter((body) => body !== "{broken"));
    });

    it("never gives the rejection of garbage as the answer to the request before it", async () => {
      for (let round = 0; round < 20; round++) {
        const socket = await open();
        const id = `before-garbage-${round}`;
        const good = rawRequest("/webhook/piped", "{}", { "content-type": "application/json", "webhook-id": id });
        socket.write(`${good}no http\r\n\r\n`);
        const first = await socket.answer().catch(() => undefined);
        // No answer at all is honest too: the sender asks again.
        expect([undefined, 202]).toContain(first?.status);
      }
    });
  });
});

describe("the limit of connections", () => {
  const MAX = 10;
  let gateway: TestGateway;
  let sockets: RawSocket[] = [];

  beforeAll(async () => {
    gateway = await startTestGateway({ yaml: `limits: { max_connections: ${MAX} }` });
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
  });
  afterAll(() => gateway.close());

  async function open(): Promise<RawSocket> {
    const socket = await openRawSocket(gateway.port);
    sockets.push(socket);
    return socket;
  }
  const hook = rawRequest("/webhook/kept", "{}", { "content-type": "application/json" });

  it("is no lock: of many that say nothing the idlest makes room for a new connection", async () => {
    const idle: RawSocket[] = [];
    for (let n = 0; n < MAX * 2; n++) idle.push(await open());
    for (let n = 0; n < MAX * 2; n++) {
      const sender = await open();
      sender.write(hook);
      expect((await sender.answer()).status).toBe(202);
    }
    await Promise.all(idle.map((socket) => socket.closed()));
    const { text } = await gateway.get("/metrics");
    expect(text).toMatch(/^posthorn_connections_closed_total\{reason="evicted"\} [1-9]/m);
  });

  it("spares those that were in use later, and those that wait for an answer", async () => {
    const first = await open();
    const waiting = await open();
    waiting.write("POST /webhook/kept HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nab");
    // Its request has begun when a later one is answered.
    first.write(hook);
    expect((await first.answer()).status).toBe(202);
    const idle: RawSocket[] = [];
    for (let n = 0; n < MAX - 2; n++) idle.push(await open());
    first.write(hook);
    expect((await first.answer()).status).toBe(202);
    const [newcomer, idlest] = [await open(), idle[0] as RawSocket];
    newcomer.write(hook);
    expect((await newcomer.answer()).status).toBe(202);
    await idlest.closed();
    first.write(hook);
    expect((await first.answer()).status).toBe(202);
    waiting.write("cde");
    expect((await waiting.answer()).status).toBe(202);
  });

  it("makes room of requests that have come in too slowly, where nobody is idle", async () => {
    const resume = gateway.holdClock();
    const slow: RawSocket[] = [];
    for (let n = 0; n < MAX; n++) {
      const socket = await open();
      socket.write("POST /webhook/kept HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 50\r\n\r\n");
      expect((await socket.next()).status).toBe(100);
      slow.push(socket);
    }
    const early = await open();
    await early.closed();
    // More than the 5 s: the gateway's clock may have been ahead of the wall's, and then moves on a little less.
    gateway.moveClock(6000);
    const sender = await open();
    sender.write(hook);
    expect((await sender.answer()).status).toBe(202);
    await slow[0]?.closed();
    resume();
  });

  it("turns new ones away where all are busy, and takes them when some have gone", async () => {
    const resume = gateway.holdClock();
    const busy: RawSocket[] = [];
    // As many as may be: what else is open is idle, and makes room for them.
    for (let n = 0; n < MAX; n++) {
      const socket = await open();
      socket.write("POST /webhook/kept HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n");
      expect((await socket.next()).status).toBe(100);
      busy.push(socket);
    }
    const extra = await open();
    await extra.closed();
    for (const socket of busy.slice(0, 3)) socket.destroy();
    await expect.poll(async () => (await gateway.get("/health").catch(() => undefined))?.status).toBe(200);
    const rest = busy.at(-1) as RawSocket;
    rest.write("abcde");
    expect((await rest.answer()).status).toBe(202);
    resume();
  });
});
