import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type ApiClient } from "../support/api-client.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface Shown {
  id: string;
  name: string;
  can: { change: boolean; use: boolean };
}

const CONTACT = "contact: ops@acme.example";
const EVENT = "evt-of-acme";

let gateway: TestGateway;
let sink: SinkServer;
let folder: string;
const callers = new Map<string, ApiClient>();

beforeAll(async () => {
  folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-batches-"));
  sink = await openSinkServer();
  const env = { SMTP_URL: "smtp://127.0.0.1:9", SMTP_FROM: "gateway@example.com", BATCH_DIR: folder };
  gateway = await startTestGateway({ env });
  await gateway.post("/api/v1/tenants", { id: "acme", contacts: [{ email: "ops@acme.example" }] });
  const ofAcme = { url: sink.url, events: ["none.*"], tenant_id: "acme" };
  await gateway.subscribe({ ...ofAcme, name: "plain" });
  await gateway.subscribe({ ...ofAcme, name: "with credentials", auth: { type: "bearer", token: "of-the-operator" } });
  const files = { name: "files", kind: "batch", destination: { path: join(folder, "orders.ndjson") } };
  await gateway.post("/api/v1/subscriptions", { ...files, events: ["none.*"], tenant_id: "acme" });
  await gateway.publish({ event_id: EVENT, event_type: "a.b", payload: {}, tenant_id: "acme" });
  await until(async () => (await list(gateway)).length === 4);

  const openLink = async (access: string) => {
    const { json } = await gateway.post("/api/v1/tenants/acme/portal-link", { access });
    return gateway.as(String(json["url"]).split("#token=")[1]);
  };
  callers.set("operator", gateway);
  callers.set("operator who reads", gateway.as(await gateway.createKey(["read"])));
  callers.set("key of the tenant", gateway.as(await gateway.createKey(["admin"], "acme")));
  callers.set("key of the tenant that reads", gateway.as(await gateway.createKey(["read"], "acme")));
  callers.set("portal link", await openLink("manage"));
  callers.set("portal link that reads", await openLink("read"));
});
afterAll(async () => {
  await Promise.all([gateway.close(), sink.close()]);
  rmSync(folder, { recursive: true });
});

async function list(client: ApiClient): Promise<readonly Shown[]> {
  return (await client.get("/api/v1/subscriptions?tenant_id=acme")).json["data"] as Shown[];
}

/** Whether the routes let the caller: every other answer than 403 is about something else. */
async function tryOut(client: ApiClient, id: string): Promise<{ change: boolean[]; use: boolean[] }> {
  const path = `/api/v1/subscriptions/${id}`;
  const change = await Promise.all([
    client.post(`${path}/pause`),
    client.post(`${path}/resume`),
    client.post(`${path}/drain`),
  ]);
  const use = [
    await client.post(`${path}/preview`, { event_id: EVENT }),
    await client.post(`${path}/test`),
    await client.get(`${path}/secret`),
    await client.post(`${path}/rotate-secret/retire`),
  ];
  const isLet = ({ status }: { status: number }) => status !== 403;
  return { change: change.map(isLet), use: use.map(isLet) };
}

const ALL = { change: true, use: true };
const NONE = { change: false, use: false };
const BY_TENANT = {
  plain: ALL,
  "with credentials": { change: true, use: false },
  files: NONE,
  [CONTACT]: NONE,
};
const everywhere = (rights: Shown["can"]) => Object.fromEntries(Object.keys(BY_TENANT).map((name) => [name, rights]));

describe("what a subscription says that its caller can do", () => {
  it.each([
    ["operator", everywhere(ALL)],
    ["operator who reads", everywhere(NONE)],
    ["key of the tenant", BY_TENANT],
    ["key of the tenant that reads", everywhere(NONE)],
    ["portal link", BY_TENANT],
    ["portal link that reads", everywhere(NONE)],
  ])("is what the routes let them do: %s", async (name, expected) => {
    const client = callers.get(name) as ApiClient;
    const listed = await list(client);
    expect(Object.fromEntries(listed.map((one) => [one.name, one.can]))).toEqual(expected);
    for (const { id, name: of, can } of listed) {
      const { change, use } = await tryOut(client, id);
      expect([of, new Set(change), new Set(use)]).toEqual([of, new Set([can.change]), new Set([can.use])]);
      expect((await client.get(`/api/v1/subscriptions/${id}`)).json["can"]).toEqual(can);
    }
  });
});
