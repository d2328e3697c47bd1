import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { N8N_PHASES, openN8nServer, type N8nOptions, type N8nServer } from "../../support/n8n-server.ts";

/** The stand-in for n8n says what n8n 2.8 was seen to say. */

let n8n: N8nServer;
afterEach(() => n8n.close());

const json = { "content-type": "application/json" };

async function post(path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) {
  const response = await fetch(n8n.url + path, { method: "POST", body, headers });
  return { status: response.status, text: await response.text() };
}

async function get(path: string) {
  const response = await fetch(n8n.url + path);
  return { status: response.status, text: await response.text() };
}

async function openReady(options: N8nOptions = {}): Promise<void> {
  n8n = await openN8nServer(options);
  await n8n.enter("ready");
}

describe("a start of n8n", () => {
  it("rejects, seems to succeed, knows nothing, and then runs the workflow", async () => {
    n8n = await openN8nServer();
    await expect(post("/webhook/orders", "{}")).rejects.toThrow(/fetch failed/);
    await n8n.enter("migrating");
    expect(await post("/webhook/orders", "{}")).toEqual({ status: 200, text: "n8n is starting up. Please wait" });
    await n8n.enter("no routes");
    expect(await post("/webhook/orders", "{}")).toMatchObject({ status: 404 });
    await n8n.enter("not registered");
    const { status, text } = await post("/webhook/orders", "{}");
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({
      code: 404,
      message: 'The requested webhook "POST orders" is not registered.',
    });
    expect(n8n.executions).toEqual([]);
    await n8n.enter("ready");
    expect(await post("/webhook/orders", "{}")).toEqual({ status: 200, text: '{"message":"Workflow was started"}' });
    expect(n8n.executions).toHaveLength(1);
    expect(n8n.answered).toEqual({ down: 0, migrating: 1, "no routes": 1, "not registered": 1, ready: 1 });
  });

  it("tells its health at once, and that it is ready before it is", async () => {
    n8n = await openN8nServer();
    const seen: Record<string, number[]> = {};
    for (const phase of N8N_PHASES.slice(1)) {
      await n8n.enter(phase);
      seen[phase] = [(await get("/healthz")).status, (await get("/healthz/readiness")).status];
    }
    expect(seen).toEqual({
      migrating: [200, 503],
      "no routes": [200, 200],
      "not registered": [200, 200],
      ready: [200, 200],
    });
    expect((await get("/healthz")).text).toBe('{"status":"ok"}');
  });

  it("walks through all of its phases, on the same port after every stop", async () => {
    await openReady();
    const { port } = n8n;
    await n8n.kill();
    await expect(get("/healthz")).rejects.toThrow(/fetch failed/);
    await n8n.boot(1);
    expect({ port: n8n.port, phase: n8n.phase }).toEqual({ port, phase: "ready" });
    expect((await post("/webhook/orders", "{}")).status).toBe(200);
  });
});

describe("a webhook of n8n", () => {
  it("reads JSON of exactly that type, and nothing of its relatives", async () => {
    await openReady();
    await post("/webhook/a", '{"n":1}', { "content-type": "application/json; charset=utf-8" });
    await post("/webhook/a", '{"n":1}', { "content-type": "application/cloudevents+json" });
    await post("/webhook/a", "n=1", { "content-type": "application/x-www-form-urlencoded" });
    await post("/webhook/a", "text", { "content-type": "text/plain" });
    await post("/webhook/a", Uint8Array.from(gzipSync('{"n":2}')), { ...json, "content-encoding": "gzip" });
    expect(n8n.executions.map(({ body }) => body)).toEqual([{ n: 1 }, {}, { n: "1" }, "text", { n: 2 }]);
    expect(await post("/webhook/a", "{")).toMatchObject({ status: 422 });
  });

  it("answers 500 and not 413 to what is too large", async () => {
    await openReady({ maxBytes: 10 });
    const { status, text } = await post("/webhook/a", '{"a":"0123456789"}');
    expect(status).toBe(500);
    expect(JSON.parse(text)).toEqual({ code: 0, message: "There was a problem executing the workflow" });
  });

  it("runs the same request as often as it comes", async () => {
    await openReady();
    for (let n = 0; n < 3; n++) await post("/webhook/a", "{}", { ...json, "webhook-id": "evt_1" });
    expect(n8n.executions).toHaveLength(3);
  });

  it("has no workflow for other paths and methods, and none for bots where it ignores them", async () => {
    await openReady({ webhooks: ["orders"], ignoreBots: true });
    expect((await post("/webhook/other", "{}")).status).toBe(404);
    expect((await get("/webhook/orders")).status).toBe(404);
    expect((await post("/webhook/orders", "{}", { ...json, "user-agent": "robot/1" })).status).toBe(403);
    expect((await post("/webhook/orders/?a=1", "{}")).status).toBe(200);
    expect(n8n.executions.map(({ path }) => path)).toEqual(["orders?a=1"]);
  });
});
