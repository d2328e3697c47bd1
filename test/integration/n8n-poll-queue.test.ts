import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AccountSASPermissions, QueueServiceClient } from "@azure/storage-queue";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import { readParked } from "../../src/brokers/azure-storage-queue/storage-text.ts";
import { PARK_REASON } from "../../src/brokers/broker.ts";
import { until } from "../support/api-client.ts";
import { openN8nServer } from "../support/n8n-server.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { useAzurite } from "../support/services/shared.ts";
import { startTestGateway } from "../support/test-gateway.ts";
import { runWorkflow, type Workflow } from "../support/workflow-runner.ts";

const FILE = join(PROJECT_ROOT, "examples/n8n-proxy/workflows/poll-queue.json");
const workflow = JSON.parse(readFileSync(FILE, "utf8")) as Workflow;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A gateway that fills a queue, an n8n whose webhooks are the workflow's targets, and the workflow between them. */
async function openWorld(context: TestContext, webhooks: readonly string[] = ["orders", "users"]) {
  const text = await useAzurite(context);
  const service = QueueServiceClient.fromConnectionString(text);
  const name = `poll-${randomUUID()}`;
  const taken = { queue: service.getQueueClient(name), poison: service.getQueueClient(`${name}-poison`) };
  await Promise.all([taken.queue.create(), taken.poison.create()]);
  const n8n = await openN8nServer({ webhooks });
  closing.push(() => n8n.close());
  await n8n.enter("ready");
  const gateway = await startTestGateway({
    yaml: JSON.stringify({
      connections: [{ name: "default", kind: "azure-storage-queue", connection_string: text }],
      subscriptions: [
        {
          name: "home-queue",
          kind: "azure-storage-queue",
          events: ["webhook.*"],
          destination: { queue: name, format: "message" },
        },
      ],
    }),
  });
  closing.push(() => gateway.close());
  // What the README tells to put into the credential.
  const sas = new URL(
    service.generateAccountSasUrl(new Date(Date.now() + 3_600_000), AccountSASPermissions.parse("rwdlacup"), "sco"),
  ).searchParams;
  const run = () =>
    runWorkflow(workflow, {
      settings: { n8n_url: n8n.url, queue_url: taken.queue.url, max_dequeues: 5 },
      customAuth: { qs: Object.fromEntries(sas) },
    });
  const countOf = async (of: "queue" | "poison") => (await taken[of].getProperties()).approximateMessagesCount ?? 0;
  return { gateway, n8n, run, countOf, ...taken };
}

describe("the workflow that polls the queue", () => {
  it("hands each webhook to its own, byte for byte and with its id, and deletes what n8n took", async (context) => {
    const { gateway, n8n, run, countOf } = await openWorld(context);
    const bodies = ['{"id":"ord-1","name":"Łódź & <Söhne>"}\n', '{"id":"ord-2"}'];
    const sent: string[] = [];
    for (const body of bodies) sent.push(String((await gateway.webhook("orders", body)).json["event_id"]));
    sent.push(String((await gateway.webhook("users", "{}")).json["event_id"]));
    await until(async () => (await countOf("queue")) === 3);
    const { ran, error } = await run();
    expect([error, ran.get("Forward"), ran.get("Delete the message")]).toEqual([undefined, 3, 3]);
    const executions = n8n.executions.map(({ path, raw, headers }) =>
      [path, raw.toString(), String(headers["webhook-id"])].join(" "),
    );
    const expected = [`orders ${bodies[0]} ${sent[0]}`, `orders ${bodies[1]} ${sent[1]}`, `users {} ${sent[2]}`];
    expect(executions.toSorted()).toEqual(expected.toSorted());
    expect([await countOf("queue"), await countOf("poison")]).toEqual([0, 0]);
  });

  it("does nothing with an empty queue, and takes nothing while n8n is not well", async (context) => {
    const { gateway, n8n, run, countOf } = await openWorld(context);
    expect([...(await run()).ran.keys()].at(-1)).toBe("Open messages");
    await gateway.webhook("orders", "{}");
    await until(async () => (await countOf("queue")) === 1);
    await n8n.enter("migrating");
    const { ran, error } = await run();
    expect([error, ran.has("Take a batch")]).toEqual([expect.stringContaining("Is n8n well"), false]);
    expect(await countOf("queue")).toBe(1);
  });

  it("leaves what n8n does not take in the queue, and takes the rest", async (context) => {
    const { gateway, n8n, run, countOf } = await openWorld(context, ["orders"]);
    await gateway.webhook("orders", '{"n":1}');
    await gateway.webhook("users", '{"n":2}');
    await until(async () => (await countOf("queue")) === 2);
    const { error, ran } = await run();
    expect([error, ran.get("Forward"), ran.get("Delete the message")]).toEqual([undefined, 2, 1]);
    expect(n8n.executions.map(({ path }) => path)).toEqual(["orders"]);
    expect([await countOf("queue"), await countOf("poison")]).toEqual([1, 0]);
  });

  it("moves garbage, and what was taken more than five times, to the poison queue with the reason", async (context) => {
    const { gateway, n8n, run, countOf, queue, poison } = await openWorld(context);
    await gateway.webhook("orders", '{"n":1}');
    await until(async () => (await countOf("queue")) === 1);
    for (let times = 0; times < 5; times++) {
      const [item] = (await queue.receiveMessages({ visibilityTimeout: 60 })).receivedMessageItems;
      await queue.updateMessage(item?.messageId ?? "", item?.popReceipt ?? "", undefined, 0);
    }
    await queue.sendMessage("no base64 & no <message>");
    await gateway.webhook("users", "{}");
    await until(async () => (await countOf("queue")) === 3);
    expect((await run()).error).toBeUndefined();
    expect(n8n.executions.map(({ path }) => path)).toEqual(["users"]);
    expect(await countOf("queue")).toBe(0);
    const { peekedMessageItems } = await poison.peekMessages({ numberOfMessages: 10 });
    const parked = peekedMessageItems.map(({ messageText }) => readParked(messageText));
    expect(parked.map(({ properties }) => String(properties[PARK_REASON])).toSorted()).toEqual([
      "max_deliveries",
      "unreadable",
    ]);
  });
});
