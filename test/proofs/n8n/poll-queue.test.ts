import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AccountSASPermissions, QueueServiceClient, type QueueClient } from "@azure/storage-queue";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readParked } from "../../../src/queues/azure-storage-queue/storage-text.ts";
import { PARK_REASON } from "../../../src/queues/broker.ts";
import { until } from "../../support/api-client.ts";
import { EXAMPLE_FOLDER } from "../../support/n8n-example.ts";
import { REQUESTS, sendRaw, shown } from "../../support/n8n-requests.ts";
import { openN8nServer, type N8nServer } from "../../support/n8n-server.ts";
import { openRealN8n, workflowIdOf, type N8nWorkflow, type RealN8n } from "../../support/real-n8n.ts";
import { startAzurite, type Azurite } from "../../support/services/azurite.ts";
import { openSinkServer, type SinkServer } from "../../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../../support/test-gateway.ts";

const FILE = join(EXAMPLE_FOLDER, "workflows/poll-queue.json");
const METHODS = ["POST", "PUT", "PATCH", "DELETE", "GET"];
const CREDENTIAL = { id: "posthorn00000003", name: "SAS of the queue" };
/** Longer than a message stays hidden. */
const HIDDEN_MS = 31_000;

let folder: string;
let n8n: RealN8n;
let azurite: Azurite;
let service: QueueServiceClient;
let alerts: SinkServer;
/** In place of another n8n: it records what comes, byte for byte. */
let recorder: N8nServer;
let gateway: TestGateway;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-polling-n8n-"));
  const started = await startAzurite();
  if (started === undefined) throw new Error("Azurite is not installed: npm install brings it");
  azurite = started;
  service = QueueServiceClient.fromConnectionString(azurite.connectionString);
  for (const name of ["webhooks", "recorded"]) {
    await service.createQueue(name);
    await service.createQueue(`${name}-poison`);
  }
  alerts = await openSinkServer();
  recorder = await openN8nServer({ methods: METHODS });
  await recorder.enter("ready");
  n8n = await openRealN8n(folder);
  await n8n.addWebhooks(["forms"]);
  await n8n.addWebhooks(["orders/eu"], "PUT");
  const inADay = new Date(Date.now() + 86_400_000);
  const sas = new URL(service.generateAccountSasUrl(inADay, AccountSASPermissions.parse("rwdlacup"), "sco"));
  const json = JSON.stringify({ qs: Object.fromEntries(sas.searchParams) });
  await n8n.importCredentials([{ ...CREDENTIAL, type: "httpCustomAuth", data: { json } }]);
  const workflows = [
    loadWorkflow("PosthornPolling1", { n8n_url: n8n.url, queue_url: queueOf("webhooks").url, alert_url: alerts.url }),
    loadWorkflow("PosthornPolling2", { n8n_url: recorder.url, queue_url: queueOf("recorded").url }),
  ];
  await n8n.importWorkflows(workflows);
  for (const { id } of workflows) await n8n.publish(id);
  gateway = await startGateway();
  await n8n.ready("orders/eu");
  await n8n.ready("forms");
});
afterAll(async () => {
  await gateway.close();
  await n8n.kill();
  await recorder.close();
  await alerts.close();
  await azurite.close();
  rmSync(folder, { recursive: true, force: true });
});

const queueOf = (name: string): QueueClient => service.getQueueClient(name);
const count = async (name: string) => (await queueOf(name).getProperties()).approximateMessagesCount ?? 0;

/** The example's workflow with what its user sets after the import; it looks more often than every 30 seconds. */
function loadWorkflow(id: string, settings: Readonly<Record<string, string>>): N8nWorkflow {
  const workflow = { ...(JSON.parse(readFileSync(FILE, "utf8")) as N8nWorkflow), id, name: id };
  for (const node of workflow.nodes) {
    if (node.name === "Every 30 seconds") {
      node.parameters["rule"] = { interval: [{ field: "seconds", secondsInterval: 2 }] };
    }
    if (node.name === "Settings") {
      const { assignments } = node.parameters["assignments"] as { assignments: { name: string; value: unknown }[] };
      for (const one of assignments) one.value = settings[one.name] ?? one.value;
    }
    if (node.parameters["genericAuthType"] === "httpCustomAuth") node.credentials = { httpCustomAuth: CREDENTIAL };
  }
  return workflow;
}

/** What comes for `new.order` goes to the recorder, forwarded and through a queue; all else only into the other queue. */
function startGateway(): Promise<TestGateway> {
  const toQueue = (queue: string) => ({ kind: "azure-storage-queue", destination: { queue, format: "message" } });
  const others = ["orders", "forms", "users"].map((source) => `webhook.${source}`);
  return startTestGateway({
    yaml: JSON.stringify({
      connections: [{ name: "default", kind: "azure-storage-queue", connection_string: azurite.connectionString }],
      sources: ["new.order", "orders"].map((name) => ({ name, methods: METHODS })),
      subscriptions: [
        { name: "home", events: others, ...toQueue("webhooks") },
        { name: "recorded", events: ["webhook.new.order"], ...toQueue("recorded") },
        {
          name: "forward",
          events: ["webhook.new.order"],
          url: `${recorder.url}/webhook/{source}`,
          mode: "forward",
          target: "n8n",
        },
      ],
    }),
  });
}

/** Those that came to their end. */
const findRuns = async (path: string) =>
  (await n8n.executions()).filter((run) => run.workflowId === workflowIdOf(path) && run.status === "success");

describe("the workflow that polls the queue, in a real n8n", () => {
  it("hands a webhook to its workflow with method, path, query, headers and body, and deletes it", async () => {
    const body = '{ "id": "ord-1", "name": "Łódź & <Söhne>" }\n';
    const headers = { "content-type": "application/json", "x-github-event": "push", authorization: "Bearer s3cret" };
    const path = "/webhook/orders/eu?dry=1&q=a%20b";
    const { event_id: id } = await sendRaw(gateway.url, "PUT", path, Buffer.from(body), headers);
    await until(async () => (await findRuns("orders/eu")).length > 0, undefined, "the execution");
    const [run] = await findRuns("orders/eu");
    expect(run).toMatchObject({
      webhook: {
        query: { dry: "1", q: "a b" },
        headers: {
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(body)),
          "x-github-event": "push",
          "webhook-id": id,
          "x-webhook-event": "webhook.orders",
          host: new URL(n8n.url).host,
        },
        body: { id: "ord-1", name: "Łódź & <Söhne>" },
      },
    });
    expect(run?.webhook?.headers).not.toHaveProperty("authorization");
    await until(async () => (await count("webhooks")) === 0, undefined, "an empty queue");
    expect([await count("webhooks-poison"), alerts.requests.length]).toEqual([0, 0]);
  });

  it("hands on a form, whose parts n8n reads", async () => {
    const body = Buffer.from('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n');
    await sendRaw(gateway.url, "POST", "/webhook/forms", body, { "content-type": "multipart/form-data; boundary=b" });
    await until(async () => (await findRuns("forms")).length > 0, undefined, "the execution");
    expect(await findRuns("forms")).toMatchObject([{ webhook: { body: { a: "1" } } }]);
    await until(async () => (await count("webhooks")) === 0, undefined, "an empty queue");
  });

  it("sends what the gateway itself would forward, byte for byte", async () => {
    const ids: unknown[] = [];
    for (const { method, rest = "", body = Buffer.alloc(0), headers = {} } of REQUESTS) {
      const answer = await sendRaw(gateway.url, method, `/webhook/new.order${rest}`, body, headers);
      expect(answer).toMatchObject({ status: "forwarded" });
      ids.push(answer["event_id"]);
    }
    await until(() => recorder.executions.length === 2 * REQUESTS.length, undefined, "all of them");
    for (const [i, { method, body = Buffer.alloc(0) }] of REQUESTS.entries()) {
      const [forwarded, polled] = recorder.executions.filter(({ headers }) => headers["webhook-id"] === ids[i]);
      expect(polled && shown(polled)).toEqual(forwarded && shown(forwarded));
      expect(polled).toMatchObject({ method, path: expect.stringMatching(/^new\.order/), raw: body });
    }
    await until(async () => (await count("recorded")) === 0, undefined, "an empty queue");
    expect(await count("recorded-poison")).toBe(0);
  });

  it("moves what nobody can take to the poison queue, reports it, and deletes it also when that fails", async () => {
    await queueOf("webhooks").sendMessage("no base64 & no <message>");
    await until(() => alerts.requests.length === 1, undefined, "the alert");
    await until(async () => (await count("webhooks")) === 0, undefined, "an empty queue");
    expect(readAlerts()).toEqual([
      { reason: "unreadable", description: "It is no message of a gateway.", source: "", event_id: "" },
    ]);

    alerts.answerWith({ status: 500 });
    await queueOf("webhooks").sendMessage("neither is this");
    await until(() => alerts.requests.length === 2, undefined, "the second alert");
    await until(async () => (await count("webhooks")) === 0, undefined, "an empty queue");
    expect(await count("webhooks-poison")).toBe(2);
    alerts.answerWith({ status: 200 });
  });

  it("gives up on a webhook that n8n does not take after five tries", async () => {
    const { json } = await gateway.webhook("users", '{"id":"user-1"}');
    const isReported = () => alerts.requests.length > 2;
    // It is seen again when it is no longer hidden.
    while (!isReported()) {
      await azurite.moveClock(HIDDEN_MS);
      await until(async () => isReported() || (await isHidden()), undefined, "the next try");
    }
    await until(async () => (await count("webhooks")) === 0, undefined, "an empty queue");
    expect(readAlerts().at(-1)).toMatchObject({
      reason: "max_deliveries",
      source: "users",
      event_id: json["event_id"],
    });
    const { peekedMessageItems } = await queueOf("webhooks-poison").peekMessages({ numberOfMessages: 10 });
    const reasons = peekedMessageItems.map(({ messageText }) => readParked(messageText).properties[PARK_REASON]);
    expect(reasons).toEqual(["unreadable", "unreadable", "max_deliveries"]);
  });
});

const readAlerts = () => alerts.requests.map(({ body }) => JSON.parse(body.toString()) as object);

/** Somebody has taken it, and not deleted it. */
async function isHidden(): Promise<boolean> {
  const { peekedMessageItems } = await queueOf("webhooks").peekMessages();
  return peekedMessageItems.length === 0 && (await count("webhooks")) > 0;
}
