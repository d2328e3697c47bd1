import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { QueueServiceClient } from "@azure/storage-queue";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import { until } from "../support/api-client.ts";
import { EXAMPLE_FOLDER, exampleEnvironment, hasten, TOKEN } from "../support/n8n-example.ts";
import { openN8nServer, type N8nExecution } from "../support/n8n-server.ts";
import { useAzurite } from "../support/services/shared.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A file of the example, with variables as `.env` has them. */
function loadExample(file: string, env: Readonly<Record<string, string>>, variable: string): string {
  const yaml = hasten(readFileSync(join(EXAMPLE_FOLDER, file), "utf8"), variable)
    .replace("idle_wait_s: 30", "idle_wait_s: 0.2")
    // One whose name has a dot, and that is sent with another method.
    .replace("  - name: users\n", "  - name: new.order\n    methods: [PUT]\n\n  - name: users\n");
  return yaml.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, usual = "") => env[name] ?? usual);
}

const same = (yaml: string) => yaml;

/** `vps.yaml`, `home.yaml`, the queue between them and n8n, which is down. */
async function openWorld(context: TestContext, changeHome = same, changeVps = same) {
  const n8n = await openN8nServer({ methods: ["PUT"] });
  closing.push(() => n8n.close());
  const connectionString = await useAzurite(context);
  const name = `two-${randomBytes(6).toString("hex")}`;
  const queue = QueueServiceClient.fromConnectionString(connectionString).getQueueClient(name);
  await queue.create();
  const env = {
    ...exampleEnvironment(n8n.url),
    HOME_N8N_URL: n8n.url,
    AZURE_STORAGE_CONNECTION_STRING: connectionString,
    MESSAGE_KEY: randomBytes(16).toString("hex"),
    QUEUE: name,
    VALIDATIONS_DIR: join(EXAMPLE_FOLDER, "validations"),
  };
  const vps = await startTestGateway({ yaml: changeVps(loadExample("vps.yaml", env, "N8N_URL")) });
  closing.push(() => vps.close());
  const home = await startTestGateway({ yaml: changeHome(loadExample("home.yaml", env, "HOME_N8N_URL")) });
  closing.push(() => home.close());
  const countQueued = async () => (await queue.getProperties()).approximateMessagesCount ?? 0;
  return { n8n, vps, home, countQueued };
}

const modeOf = async (gateway: TestGateway) => (await gateway.get("/status")).json["mode"];

async function sendOrder(
  vps: TestGateway,
  more: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const { json } = await vps.request("PUT", "/webhook/new.order/eu/%C5%81%C3%B3d%C5%BA?dry=1&q=a%20b", {
    body: '{ "id": "ord-1" }',
    headers: {
      "content-type": "application/json; charset=utf-8",
      "x-webhook-token": TOKEN,
      "x-github-event": "push",
      "x-real-ip": "203.0.113.9",
      ...more,
    },
  });
  return json;
}

/** What does not differ from delivery to delivery. */
function shown({ method, path, headers, raw }: N8nExecution) {
  const volatile = /^(?:x-webhook-|webhook-|traceparent$|x-posthorn-hops$|connection$)/;
  const stable = Object.entries(headers).filter(([name]) => !volatile.test(name));
  return { method, path, headers: Object.fromEntries(stable), body: raw.toString() };
}

describe("the gateways of the example on a VPS and at home, with a queue between them", () => {
  it("bring n8n the request that a forward would have: method, path, query, headers and bytes", async (context) => {
    const { n8n, vps, home, countQueued } = await openWorld(context);
    await until(async () => (await modeOf(vps)) === "QUEUE" && (await modeOf(home)) === "QUEUE");
    const queued = await sendOrder(vps);
    expect(queued).toMatchObject({ status: "queued", deliveries: 1 });
    await until(async () => (await countQueued()) === 1, undefined, "it in the queue");

    await n8n.enter("ready");
    await until(() => n8n.executions.length === 1, undefined, "it at n8n");
    await until(async () => (await modeOf(vps)) === "NORMAL", undefined, "the mode NORMAL on the VPS");
    expect(await sendOrder(vps)).toMatchObject({ status: "forwarded" });
    const [byQueue, forwarded] = n8n.executions as [N8nExecution, N8nExecution];
    expect(shown(byQueue)).toEqual(shown(forwarded));
    expect(shown(byQueue)).toMatchObject({
      method: "PUT",
      path: "new.order/eu/%C5%81%C3%B3d%C5%BA?dry=1&q=a%20b",
      headers: { "x-github-event": "push", "content-type": "application/json; charset=utf-8" },
      body: '{ "id": "ord-1" }',
    });
    expect(byQueue.headers).not.toHaveProperty("x-real-ip");
    expect(byQueue.headers["webhook-id"]).toBe(queued["event_id"]);
  });

  it("bring n8n the sender's id and signature where both name them, as home.yaml has it in a comment", async (context) => {
    const named = '    forward_headers: ["*", webhook-id, webhook-timestamp, webhook-signature]\n';
    const uncomment = (yaml: string) => yaml.replace("    # forward_headers:", "    forward_headers:");
    const toVps = (yaml: string) => yaml.replace("    mode: forward\n", `    mode: forward\n${named}`);
    const { n8n, vps, countQueued } = await openWorld(context, uncomment, toVps);
    const own = { "webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,abc" };
    await until(async () => (await modeOf(vps)) === "QUEUE");
    expect(await sendOrder(vps, own)).toMatchObject({ status: "queued" });
    await until(async () => (await countQueued()) === 1, undefined, "it in the queue");
    await n8n.enter("ready");
    await until(() => n8n.executions.length === 1, undefined, "it at n8n");
    expect(n8n.executions[0]?.headers).toMatchObject(own);
  });

  it("would bring a POST without path, query and headers if home did not forward: the control", async (context) => {
    const { n8n, vps, countQueued } = await openWorld(context, (yaml) => yaml.replace("    mode: forward\n", ""));
    await until(async () => (await modeOf(vps)) === "QUEUE");
    await sendOrder(vps);
    await until(async () => (await countQueued()) === 1, undefined, "it in the queue");
    await n8n.enter("ready");
    await until(() => n8n.answered.ready > 0, undefined, "the request at n8n");
    expect(n8n.executions).toEqual([]);
  });
});
