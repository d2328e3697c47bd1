import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openRawSocket, rawRequest, type RawSocket } from "../support/raw-socket.ts";
import { ADMIN_KEY, startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

describe("a gateway with much to do", () => {
  let gateway: TestGateway;
  let sockets: RawSocket[] = [];
  let isHeld = false;

  async function start(env: NonNullable<TestGatewayOptions["env"]>): Promise<void> {
    gateway = await startTestGateway({ env });
  }
  afterEach(async () => {
    isHeld = false;
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await gateway.close();
  });

  async function open(): Promise<RawSocket> {
    const socket = await openRawSocket(gateway.port);
    sockets.push(socket);
    return socket;
  }

  function block(ms: number): void {
    const end = performance.now() + ms;
    while (performance.now() < end);
  }

  /** Every turn of the loop takes this long, until the test is over. */
  function holdLoop(ms: number): void {
    isHeld = true;
    const hold = () => {
      block(ms);
      if (isHeld) setImmediate(hold);
    };
    setImmediate(hold);
  }

  const hook = (path = "/webhook/busy") => rawRequest(path, "{}", { "content-type": "application/json" });

  /** Several at once over each of several connections. */
  async function flood(senders: readonly RawSocket[]): Promise<number[]> {
    const AT_ONCE = 5;
    for (const socket of senders) socket.write(hook().repeat(AT_ONCE));
    const statuses: number[] = [];
    for (const socket of senders) {
      for (let n = 0; n < AT_ONCE; n++) {
        const { status, headers } = await socket.answer();
        statuses.push(status);
        if (headers["connection"] === "close") break;
      }
    }
    return statuses;
  }

  it("accepts requests again right after a pause, on both hot routes", async () => {
    await start({ MAX_LOOP_LAG_MS: 100 });
    expect((await gateway.webhook("busy", "{}")).status).toBe(202);
    const [sender, publisher] = [await open(), await open()];
    for (let round = 0; round < 3; round++) {
      sender.write(hook());
      const event = '{"event_type":"a.b","payload":{}}';
      publisher.write(rawRequest("/api/v1/events", event, { authorization: `Bearer ${ADMIN_KEY}` }));
      // After the writes have left and before the server looks at them.
      await new Promise<void>((resolve) => {
        setImmediate(() => {
          block(400);
          resolve();
        });
      });
      expect([(await sender.answer()).status, (await publisher.answer()).status]).toEqual([202, 202]);
      expect((await gateway.as(undefined).get("/readyz")).json["status"]).toBe("ok");
    }
  });

  it("takes everything although its loop is late all the time, as long as there is no backlog", async () => {
    await start({ MAX_LOOP_LAG_MS: 50 });
    const senders = await Promise.all(Array.from({ length: 4 }, open));
    holdLoop(250);
    for (let round = 0; round < 4; round++) expect(new Set(await flood(senders))).toEqual(new Set([202]));
  });

  it("sheds with 503 before a body is read when it stays late and a backlog grows, and recovers", async () => {
    await start({ MAX_LOOP_LAG_MS: 50, MAX_UNWRITTEN_EVENTS: 1 });
    const senders = await Promise.all(Array.from({ length: 4 }, open));
    holdLoop(250);
    const seen = new Set<number>();
    for (let round = 0; round < 10 && !seen.has(503); round++) {
      for (const status of await flood(senders)) seen.add(status);
    }
    expect(seen).toEqual(new Set([202, 503]));
    isHeld = false;
    await until(async () => (await gateway.webhook("busy", "{}")).status === 202);
    await until(async () => (await gateway.get("/readyz")).status === 200);
    expect(gateway.log.find(({ code }) => code === "overloaded")).toMatchObject({ detail: /run late/ });
  });

  it("sheds when the bodies that it holds fill their memory, says so everywhere, and recovers", async () => {
    await start({ MAX_UNANSWERED_BYTES: 200_000 });
    const greedy = await open();
    greedy.write("POST /webhook/greedy HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n", Buffer.alloc(400_000));
    await until(async () => (await gateway.get("/readyz")).status === 503);
    const refused = await gateway.webhook("busy", "{}");
    expect([refused.status, refused.json["code"], refused.headers.get("retry-after")]).toEqual([
      503,
      "overloaded",
      "1",
    ]);
    expect((await gateway.publish({ event_type: "a.b", payload: {} })).json["code"]).toBe("overloaded");
    expect((await gateway.get("/readyz")).json["status"]).toBe("overloaded");
    expect(gateway.log.filter(({ code }) => code === "overloaded")).toMatchObject([{ level: "warn", status: 503 }]);
    const { text } = await gateway.get("/metrics");
    expect(Number(/^posthorn_server_errors_total\{code="overloaded"\} (\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(
      3,
    );
    greedy.destroy();
    await until(async () => (await gateway.webhook("busy", "{}")).status === 202);
    expect((await gateway.get("/readyz")).json["status"]).toBe("ok");
  });

  it("holds nothing any more of bodies that were answered, rejected or broken off", async () => {
    await start({ MAX_UNANSWERED_BYTES: 300_000, MAX_BODY_BYTES: 250_000 });
    const large = JSON.stringify({ filler: "x".repeat(200_000) });
    for (let round = 0; round < 4; round++) {
      expect((await gateway.webhook("large", large)).status).toBe(202);
      expect((await gateway.webhook("large", `${large.slice(0, -1)},`)).status).toBe(400);
      expect((await gateway.publish({ event_type: "a.b", payload: { filler: "x".repeat(200_000) } })).status).toBe(202);
      expect((await gateway.post("/api/v1/events", { nothing: "x".repeat(200_000) })).status).toBe(422);
      const chunked = await open();
      chunked.write("POST /webhook/large HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
      chunked.write(`40000\r\n${"x".repeat(0x40000)}\r\n`);
      expect((await chunked.answer()).status).toBe(413);
      const broken = await open();
      broken.write(`POST /webhook/large HTTP/1.1\r\nhost: a\r\ncontent-length: 220000\r\n\r\n${"x".repeat(200_000)}`);
      broken.destroy();
      await until(async () => (await gateway.get("/readyz")).status === 200);
    }
  });
});
