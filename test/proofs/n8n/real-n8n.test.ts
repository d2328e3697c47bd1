import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../support/api-client.ts";
import { ADMIN_KEY, startGatewayProcess, type GatewayProcess } from "../../support/gateway-process.ts";
import {
  copyExample,
  countDead,
  createOrder,
  CUSTOMERS,
  EXAMPLE_FOLDER,
  exampleEnvironment,
  post,
  readStatus,
  send,
  sendMany,
  type Sent,
} from "../../support/n8n-example.ts";
import { openRealN8n, workflowIdOf, type N8nWorkflow, type RealN8n } from "../../support/real-n8n.ts";
import { count, report } from "../../support/report.ts";

const WEBHOOKS = 1000;
const WEBHOOKS_OF_CONTROL = 200;
/** More than suspend a subscription. */
const MANY = 12;
/** Longer than the longest wait for the next try. */
const PATIENT = { timeout: 15 * 60_000, interval: 500 };

let n8nFolder: string;
let n8n: RealN8n;
let folder: string;
let gateway: GatewayProcess | undefined;
let url: string | undefined;
const findUrl = () => url;

beforeAll(async () => {
  n8nFolder = mkdtempSync(join(tmpdir(), "posthorn-real-n8n-"));
  n8n = await openRealN8n(n8nFolder);
  await n8n.addWebhooks(["orders", "payments", "users"]);
});
afterAll(async () => {
  await n8n.kill();
  rmSync(n8nFolder, { recursive: true, force: true });
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-n8n-"));
  copyExample(folder);
});
afterEach(async () => {
  await gateway?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

function changeConfig(change: (yaml: string) => string): void {
  const file = join(folder, "posthorn.yaml");
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

async function startGateway(): Promise<void> {
  gateway = startGatewayProcess({ folder, env: exampleEnvironment(n8n.url) });
  url = await gateway.ready;
}

/** The example's workflow with what its user sets after the import: where the gateway is, and the credential. */
function loadSchemaWorkflow(credential: { id: string; name: string }): N8nWorkflow {
  const file = join(EXAMPLE_FOLDER, "workflows/build-and-export-schema.json");
  const workflow = JSON.parse(readFileSync(file, "utf8").replace("https://hooks.example", String(url))) as N8nWorkflow;
  for (const node of workflow.nodes) {
    if (node.name === "Export Schema") node.credentials = { httpBearerAuth: credential };
  }
  return workflow;
}

/** Which of these it ran to the end, in its order. */
async function executed(sent: readonly Sent[]): Promise<string[]> {
  const wanted = new Set(sent.map(({ id }) => id));
  const runs = await n8n.executions();
  return runs
    .filter(({ status }) => status === "success")
    .flatMap(({ texts }) => texts.find((text) => wanted.has(text)) ?? []);
}

/** Kills n8n, sends so many, and starts it again. What it ran of them is in its order. */
async function passOutage(webhooks: number): Promise<{ sent: readonly Sent[]; ran: readonly string[] }> {
  await n8n.ready("payments");
  await n8n.ready("orders");
  const first = createOrder(`customer-before-${webhooks}`, 0);
  await send(findUrl, "orders", first);
  await expect.poll(() => executed([first]), PATIENT).toEqual([first.id]);

  await n8n.kill();
  const sent: Sent[] = [];
  await sendMany(findUrl, webhooks / 2, sent);
  await until(async () => (await readStatus(url)).mode === "QUEUE", undefined, "the mode QUEUE");
  await sendMany(findUrl, webhooks / 2, sent);
  const answers = new Set(sent.flatMap((one) => one.answers.map(({ status, said }) => `${status} ${said}`)));
  expect([sent.length, ...answers]).toEqual([webhooks, "202 queued"]);
  expect(await readStatus(url)).toMatchObject({ mode: "QUEUE", health: "error", queue_length: webhooks });
  const before = (await executed(sent)).length;

  const startedAt = performance.now();
  await n8n.ready("orders");
  const readyAt = performance.now();
  await expect.poll(async () => (await executed(sent)).length - before, PATIENT).toBeGreaterThanOrEqual(webhooks);
  const arrivedAt = performance.now();
  await expect.poll(() => readStatus(url), PATIENT).toMatchObject({ mode: "NORMAL", queue_length: 0, health: "ok" });
  report(
    `real n8n: ready ${seconds(readyAt - startedAt)} after its start; ${count(webhooks)} webhooks executed ` +
      `${seconds(arrivedAt - readyAt)} later, NORMAL ${seconds(performance.now() - readyAt)} later`,
  );
  return { sent, ran: (await executed(sent)).slice(before) };
}

/** Customers whose webhooks ran in another order than they were sent in. */
function findOutOfOrder(sent: readonly Sent[], ran: readonly string[]): string[] {
  const customers = Array.from({ length: CUSTOMERS }, (_, i) => `customer-${i}`);
  return customers.filter((customer) => {
    const ids = sent.filter((one) => one.customer === customer).map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(1);
    const own = new Set(ids);
    return ids.join() !== ran.filter((id) => own.has(id)).join();
  });
}

describe("a real n8n behind the gateway of the example", () => {
  // shows: B12
  it("runs the example's workflow, and the gateway goes by the schema that it made", async () => {
    await startGateway();
    const credential = { id: "posthorn00000001", name: "Posthorn" };
    await n8n.importCredentials([{ ...credential, type: "httpBearerAuth", data: { token: ADMIN_KEY } }]);
    const workflow = loadSchemaWorkflow(credential);
    await n8n.importWorkflows([workflow]);
    const order = JSON.parse(createOrder("customer-1", 1).body) as object;
    // The file of the example allows 64 characters; what is made from a sample, any text.
    const withLongId = JSON.stringify({ ...order, id: "x".repeat(65) });
    const withNumberAsId = JSON.stringify({ ...order, id: 1 });
    expect(await post(url, "orders", withLongId)).toBe(422);

    expect(await n8n.run("execute", `--id=${workflow.id}`)).toContain("Execution was successful");
    const response = await fetch(`${url}/validations/orders`, { headers: { "x-api-key": ADMIN_KEY } });
    expect(await response.text()).toContain("Built from a sample of orders");
    expect([200, 202]).toContain(await post(url, "orders", withLongId));
    expect(await post(url, "orders", withNumberAsId)).toBe(422);
  });

  it("does not change a validation without the gateway's key: the control", async () => {
    await startGateway();
    const credential = { id: "posthorn00000002", name: "Not of Posthorn" };
    await n8n.importCredentials([{ ...credential, type: "httpBearerAuth", data: { token: "another key" } }]);
    const workflow = { ...loadSchemaWorkflow(credential), id: "PosthornSchema02" };
    await n8n.importWorkflows([workflow]);
    await expect(n8n.run("execute", `--id=${workflow.id}`)).rejects.toThrow(/401/);
    const response = await fetch(`${url}/validations/orders`, { headers: { "x-api-key": ADMIN_KEY } });
    expect(await response.text()).not.toContain("Built from a sample");
  });

  // shows: B2
  it("runs each of 1,000 webhooks of an outage once, and each customer's in their order", async () => {
    await startGateway();
    const { sent, ran } = await passOutage(WEBHOOKS);
    // Nothing was on its way when either of them stopped.
    expect([...ran].sort()).toEqual(sent.map(({ id }) => id).sort());
    expect(findOutOfOrder(sent, ran)).toEqual([]);
    expect(await countDead(url)).toBe(0);
  });

  it("would run them in any order if none was asked for: the control", async () => {
    changeConfig((yaml) => yaml.replace("ordered: true", "ordered: false").replace(/^ +on_dead_head: .+\n/m, ""));
    await startGateway();
    const { sent, ran } = await passOutage(WEBHOOKS_OF_CONTROL);
    expect(new Set(ran)).toEqual(new Set(sent.map(({ id }) => id)));
    expect(findOutOfOrder(sent, ran)).not.toEqual([]);
  });

  it("holds nobody up for one workflow that is not active, and gets what waited when it is", async () => {
    await startGateway();
    await n8n.ready("users");
    await n8n.ready("orders");
    await n8n.setActive("orders", false);
    const orders = Array.from({ length: MANY }, (_, i) => createOrder(`late-${i}`, 1));
    const users = Array.from({ length: MANY }, (_, i) => createUser(i));
    for (const [i, order] of orders.entries()) {
      await send(findUrl, "orders", order);
      await send(findUrl, "users", users[i] ?? order);
    }
    expect(orders.map(({ answers }) => answers)).toEqual(orders.map(() => [{ status: 202, said: "queued" }]));
    await expect.poll(async () => (await executed(users)).sort(), PATIENT).toEqual(users.map(({ id }) => id).sort());
    await expect.poll(() => readStatus(url), PATIENT).toMatchObject({ mode: "NORMAL", queue_length: MANY });
    const { missing_sources: missing, targets } = await readStatus(url);
    expect(missing).toMatchObject([
      { source: "orders", subscription: "n8n", last_error: expect.stringContaining("404") },
    ]);
    expect(targets).toMatchObject([{ name: "n8n", mode: "NORMAL" }]);
    expect(await executed(orders)).toEqual([]);

    await n8n.setActive("orders", true);
    await expect.poll(async () => (await executed(orders)).sort(), PATIENT).toEqual(orders.map(({ id }) => id).sort());
    await expect
      .poll(() => readStatus(url), PATIENT)
      .toMatchObject({ mode: "NORMAL", queue_length: 0, missing_sources: [] });
    expect(await countDead(url)).toBe(0);
    const runs = await n8n.executions();
    expect(runs.filter(({ workflowId }) => workflowId === workflowIdOf("users"))).toHaveLength(MANY);
  });

  it("would be taken at its word by who does not know n8n, and nothing would wait: the control", async () => {
    const giveUp = "mode: forward\n    give_up_on: [404]\n";
    changeConfig((yaml) => yaml.replace(/^ +(target|retry_policy): .+\n/gm, "").replace("mode: forward\n", giveUp));
    await startGateway();
    await n8n.ready("users");
    await n8n.setActive("orders", false);
    await send(findUrl, "orders", createOrder("lost", 1));
    await until(async () => (await countDead(url)) === 1, undefined, "what was given up");
    expect(await readStatus(url)).toMatchObject({ queue_length: 0, missing_sources: [] });
  });
});

function createUser(number: number): Sent {
  const id = `user-${number}`;
  return { id, body: JSON.stringify({ id, email: "a@example.com" }), customer: undefined, answers: [] };
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
