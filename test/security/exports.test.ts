import { get, type IncomingMessage } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const EXPORTS = 40;
const EVENTS = 150;

describe("exports that nobody reads", () => {
  let gateway: TestGateway;
  let unread: IncomingMessage[] = [];
  afterEach(async () => {
    for (const response of unread) response.destroy();
    unread = [];
    await gateway.close();
  });

  async function start(yaml: string): Promise<void> {
    gateway = await startTestGateway({ yaml });
    // Together more than an export could hand to a socket that nobody reads.
    const body = JSON.stringify({ filler: "x".repeat(100_000) });
    for (let n = 0; n < EVENTS; n++) expect((await gateway.webhook("large", body)).status).toBe(202);
  }

  /** Asks for everything, and reads nothing but the head of the answer. */
  function exportUnread(key: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}` };
      const request = get(`${gateway.url}/api/v1/events/export`, { agent: false, headers }, (response) => {
        response.on("error", () => undefined);
        unread.push(response);
        resolve(response);
      });
      request.on("error", reject);
    });
  }

  async function exportMany(key: string): Promise<IncomingMessage[]> {
    return Promise.all(Array.from({ length: EXPORTS }, () => exportUnread(key)));
  }
  const count = (answers: readonly IncomingMessage[], status: number) =>
    answers.filter(({ statusCode }) => statusCode === status).length;

  it("are few for a key and in all, and keep nobody else waiting", async () => {
    await start("limits: { max_exports: 3, max_exports_per_key: 2 }");
    const [hostile, other, third] = [
      await gateway.createKey(["read"]),
      await gateway.createKey(["read"]),
      await gateway.createKey(["read"]),
    ];
    const answers = await exportMany(hostile);
    expect([count(answers, 200), count(answers, 429)]).toEqual([2, EXPORTS - 2]);
    const refused = answers.find(({ statusCode }) => statusCode === 429);
    expect(refused?.headers["retry-after"]).toBe("10");
    // Ingest and lists go on beside them.
    for (let n = 0; n < 20; n++) expect((await gateway.webhook("good", `{"n":${n}}`)).status).toBe(202);
    expect((await gateway.as(hostile).get("/api/v1/events?source=good&limit=5")).status).toBe(200);
    // Another key has its own, as long as there is room at all.
    expect((await exportUnread(other)).statusCode).toBe(200);
    expect((await exportUnread(third)).statusCode).toBe(429);
    for (const response of unread) response.destroy();
    await until(async () => (await exportUnread(third)).statusCode === 200);
    const whole = await gateway.as(hostile).get("/api/v1/events/export?source=good");
    expect([whole.status, whole.text.trim().split("\n").length]).toEqual([200, 20]);
  });

  it("are all taken where the limits allow it: it is these that hold them back", async () => {
    await start("limits: { max_exports: 100, max_exports_per_key: 100 }");
    const key = await gateway.createKey(["read"]);
    expect(count(await exportMany(key), 200)).toBe(EXPORTS);
  });
});
