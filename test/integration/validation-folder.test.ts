import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkOwnEvent } from "../support/own-event-document.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ALERTING, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const OBJECT = '{"type":"object"}';
const ARRAY = '{"type":"array"}';

let gateway: TestGateway;
let sink: SinkServer;
let folder: string;

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway({ env: ALERTING }), openSinkServer()]);
  folder = join(dirname(gateway.dataDir), "validations");
});
afterAll(() => Promise.all([gateway.close(), sink.close()]));

const statusOf = async (endpoint: string, body: string) => (await gateway.webhook(endpoint, body)).status;

async function put(endpoint: string, body: string): Promise<number> {
  const headers = { "content-type": "application/json" };
  return (await gateway.request("PUT", `/validations/${endpoint}`, { body, headers })).status;
}

describe("the folder of a running gateway", () => {
  // shows: B11
  it("is made by the first PUT, and holds what was put when that is answered", async () => {
    expect(() => readdirSync(folder)).toThrow(/ENOENT/);
    expect(await put("orders", OBJECT)).toBe(200);
    expect(readFileSync(join(folder, "orders.json"), "utf8")).toBe(OBJECT);
    expect((await gateway.request("DELETE", "/validations/orders")).status).toBe(204);
    expect(readdirSync(folder)).toEqual([]);
  });

  // shows: B11
  it("brings in what is edited by hand, and ends what is deleted", async () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "users.json"), OBJECT);
    await gateway.moveClockUntil(async () => (await statusOf("users", "[]")) === 422);
    writeFileSync(join(folder, "users.json"), ARRAY);
    await gateway.moveClockUntil(async () => (await statusOf("users", "[]")) === 202);
    rmSync(join(folder, "users.json"));
    await gateway.moveClockUntil(async () => (await statusOf("users", "{}")) === 202);
    const { json } = await gateway.get("/validations/users/versions");
    expect((json["data"] as { created_by: string }[]).map(({ created_by }) => created_by)).toEqual(
      Array(3).fill("folder"),
    );
    expect((await gateway.post("/validations/users/rollback", { version: 1 })).status).toBe(200);
    expect(readFileSync(join(folder, "users.json"), "utf8")).toBe(OBJECT);
  });

  it("keeps the last good version of a broken file, warns, and publishes an alert that is cleared later", async () => {
    await gateway.subscribe({ name: "alerts", url: sink.url, events: ["alert.*"], format: "envelope" });
    await put("payments", OBJECT);
    writeFileSync(join(folder, "payments.json"), '{"type":');
    await gateway.moveClockUntil(() => sink.requests.length > 0);
    const [fired] = sink.requests;
    expect(await statusOf("payments", "[]")).toBe(422);
    expect(await statusOf("payments", "{}")).toBe(202);
    writeFileSync(join(folder, "payments.json"), ARRAY);
    await gateway.moveClockUntil(() => sink.requests.length > 1);
    const [, cleared] = sink.requests;
    await gateway.moveClockUntil(async () => (await statusOf("payments", "[]")) === 202);
    for (const [type, received] of [
      ["alert.fired", fired],
      ["alert.cleared", cleared],
    ] as const) {
      const envelope = JSON.parse(received?.body.toString() ?? "") as { event: string; data: object };
      expect(envelope).toMatchObject({
        event: type,
        data: { code: "validation_broken", subject: "payments.json", endpoint: "payments" },
      });
      expect(checkOwnEvent(type, envelope.data)).toBeUndefined();
    }
    const warning = gateway.log.find(({ msg }) => msg.startsWith("a validation file cannot be used"));
    expect(warning).toMatchObject({ level: "warn", file: "payments.json" });
    // In words for whoever edits the file, not for a sender.
    expect(warning?.["reason"]).toMatch(/^cannot be read: .* at line 1, column 9$/);
    expect(gateway.logText()).not.toContain("send it again");
  });

  it("takes at a start what was edited meanwhile, before the first webhook", async () => {
    await put("invoices", OBJECT);
    await gateway.stop();
    writeFileSync(join(folder, "invoices.json"), ARRAY);
    await gateway.restart();
    expect(await statusOf("invoices", "[]")).toBe(202);
    expect(await statusOf("invoices", "{}")).toBe(422);
  });
});
