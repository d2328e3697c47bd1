import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { AccountSASPermissions, QueueServiceClient } from "@azure/storage-queue";
import { afterEach, describe, expect, it, type TestContext } from "vitest";
import { readParked } from "../../src/queues/azure-storage-queue/storage-text.ts";
import { PARK_REASON } from "../../src/queues/broker.ts";
import { until } from "../support/api-client.ts";
import { openN8nServer } from "../support/n8n-server.ts";
import { REQUESTS, sendRaw, shown } from "../support/n8n-requests.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { useAzurite } from "../support/services/shared.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway } from "../support/test-gateway.ts";
import { runWorkflow, type Workflow } from "../support/workflow-runner.ts";

const FILE = join(PROJECT_ROOT, "examples/n8n-proxy/workflows/poll-queue.json");
const workflow = JSON.parse(readFileSync(FILE, "utf8")) as Workflow;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Settings {
  webhooks?: readonly string[];
  /** A second way to n8n, by the gateway's own forward. */
  forwards?: boolean;
  forwardHeaders?: readonly string[];
}

const METHODS = ["POST", "PUT", "PATCH", "DELETE", "GET"];

/** A gateway that fills a queue, an n8n whose webhooks are the workflow's targets, and the workflow between them. */
async function openWorld(context: TestContext, settings: Settings = {}) {
  const { webhooks = ["orders", "users"], forwards = false, forwardHeaders = ["*"] } = settings;
  const text = await useAzurite(context);
  const service = QueueServiceClient.fromConnectionString(text);
  const name = `poll-${randomUUID()}`;
  const taken = { queue: service.getQueueClient(name), poison: service.getQueueClient(`${name}-poison`) };
  await Promise.all([taken.queue.create(), taken.poison.create()]);
  const n8n = await openN8nServer({ methods: METHODS, ...(!forwards && { webhooks }) });
  closing.push(() => n8n.close());
  await n8n.enter("ready");
  const forward = {
    name: "n8n",
    events: ["webhook.#"],
    url: `${n8n.url}/webhook/{source}`,
    mode: "forward",
    target: "n8n",
    forward_headers: forwardHeaders,
  };
  const gateway = await startTestGateway({
    yaml: JSON.stringify({
      connections: [{ name: "default", kind: "azure-storage-queue", connection_string: text }],
      sources: [{ name: "new.order", methods: METHODS }],
      subscriptions: [
        {
          name: "home-queue",
          kind: "azure-storage-queue",
          events: ["webhook.#"],
          destination: { queue: name, format: "message", forward_headers: forwardHeaders },
        },
        ...(forwards ? [forward] : []),
      ],
    }),
  });
  closing.push(() => gateway.close());
  // What the README tells to put into the credential.
  const sas = new URL(
    service.generateAccountSasUrl(new Date(Date.now() + 3_600_000), AccountSASPermissions.parse("rwdlacup"), "sco"),
  ).searchParams;
  const run = (more: { alert_url?: string } = {}, changed: Workflow = workflow) =>
    runWorkflow(changed, {
      settings: { n8n_url: n8n.url, queue_url: taken.queue.url, max_dequeues: 5, ...more },
      customAuth: { qs: Object.fromEntries(sas) },
    });
  const countOf = async (of: "queue" | "poison") => (await taken[of].getProperties()).approximateMessagesCount ?? 0;
  return { gateway, n8n, run, countOf, ...taken };
}

describe("the workflow that polls the queue", () => {
  // shows: B9, Q63
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
    const { gateway, n8n, run, countOf } = await openWorld(context, { webhooks: ["orders"] });
    await gateway.webhook("orders", '{"n":1}');
    await gateway.webhook("users", '{"n":2}');
    await until(async () => (await countOf("queue")) === 2);
    const { error, ran } = await run();
    expect([error, ran.get("Forward"), ran.get("Delete the message")]).toEqual([undefined, 2, 1]);
    expect(n8n.executions.map(({ path }) => path)).toEqual(["orders"]);
    expect([await countOf("queue"), await countOf("poison")]).toEqual([1, 0]);
  });

  // shows: Q63
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

  it("hands on what the gateway itself would forward: method, path, query, headers and bytes", async (context) => {
    const { gateway, n8n, run, countOf } = await openWorld(context, { forwards: true });
    const ids: unknown[] = [];
    for (const { method, rest = "", body = Buffer.alloc(0), headers = {} } of REQUESTS) {
      const answer = await sendRaw(gateway.url, method, `/webhook/new.order${rest}`, body, headers);
      expect(answer).toMatchObject({ status: "forwarded" });
      ids.push(answer["event_id"]);
    }
    await until(async () => (await countOf("queue")) === REQUESTS.length);
    const { error, ran } = await run();
    expect([error, ran.get("Delete the message")]).toEqual([undefined, REQUESTS.length]);
    for (const [i, { method, body = Buffer.alloc(0) }] of REQUESTS.entries()) {
      const [forwarded, polled] = n8n.executions.filter(({ headers }) => headers["webhook-id"] === ids[i]);
      expect(polled && shown(polled)).toEqual(forwarded && shown(forwarded));
      expect(polled).toMatchObject({ method, path: expect.stringMatching(/^new\.order/), raw: body });
    }
    expect([await countOf("queue"), await countOf("poison")]).toEqual([0, 0]);
  });

  it("hands on the sender's id and signature where the gateway is told to", async (context) => {
    const forwardHeaders = ["*", "webhook-id", "webhook-timestamp", "webhook-signature", "user-agent"];
    const { gateway, n8n, run, countOf } = await openWorld(context, { forwards: true, forwardHeaders });
    const own = {
      "webhook-id": "msg_1",
      "webhook-timestamp": "1",
      "webhook-signature": "v1,abc",
      "user-agent": "shop/1",
    };
    await sendRaw(gateway.url, "POST", "/webhook/new.order", Buffer.from("{}"), own);
    await until(async () => (await countOf("queue")) === 1);
    await run();
    expect(n8n.executions).toMatchObject([{ headers: own }, { headers: own }]);
  });

  it("moves a DELETE with a body to the poison queue, because n8n would leave out the body", async (context) => {
    const { gateway, n8n, run, countOf } = await openWorld(context);
    await sendRaw(gateway.url, "DELETE", "/webhook/new.order", Buffer.from("{}"), {});
    await until(async () => (await countOf("queue")) === 1);
    await run();
    expect([n8n.executions.length, await countOf("queue"), await countOf("poison")]).toEqual([0, 0, 1]);
  });

  describe("with an alert URL", () => {
    async function openAlerted(
      context: TestContext,
    ): Promise<{ alerts: SinkServer } & Awaited<ReturnType<typeof openWorld>>> {
      const world = await openWorld(context);
      const alerts = await openSinkServer();
      closing.push(() => alerts.close());
      await world.queue.sendMessage("no message of a gateway");
      const { json } = await world.gateway.webhook("orders", "{}");
      await until(async () => (await world.countOf("queue")) === 2);
      expect(json).toMatchObject({ deliveries: 1 });
      return { ...world, alerts };
    }

    it("reports what goes to the poison queue, and nothing else", async (context) => {
      const { run, countOf, alerts, queue, gateway } = await openAlerted(context);
      const { json } = await gateway.webhook("users", "{}");
      await until(async () => (await countOf("queue")) === 3);
      for (let times = 0; times < 5; times++) {
        const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 32, visibilityTimeout: 60 });
        for (const { messageId, popReceipt, messageText } of receivedMessageItems) {
          const isTheirs = Buffer.from(messageText, "base64").includes(String(json["event_id"]));
          await queue.updateMessage(messageId, popReceipt, undefined, isTheirs || times < 4 ? 0 : 3600);
        }
      }
      const { error } = await run({ alert_url: `${alerts.url}/alerts?team=home` });
      expect(error).toBeUndefined();
      expect(alerts.requests.map(({ method, path, body }) => [method, path, JSON.parse(body.toString())])).toEqual([
        [
          "POST",
          "/alerts?team=home",
          {
            reason: "max_deliveries",
            description: "It was taken 6 times.",
            source: "users",
            event_id: json["event_id"],
          },
        ],
      ]);
    });

    it("deletes the message from the queue also when the alert fails", async (context) => {
      const { n8n, run, countOf, alerts, queue } = await openAlerted(context);
      alerts.answerWith({ status: 500 });
      const { error, ran } = await run({ alert_url: alerts.url });
      expect([error, ran.get("Alert"), ran.get("Delete the message")]).toEqual([undefined, 1, 2]);
      expect(n8n.executions.map(({ path }) => path)).toEqual(["orders"]);
      expect([await countOf("queue"), await countOf("poison")]).toEqual([0, 1]);
      await alerts.close();
      await queue.sendMessage("no message of a gateway");
      expect((await run({ alert_url: alerts.url })).error).toBeUndefined();
      expect([await countOf("queue"), await countOf("poison")]).toEqual([0, 2]);
    });

    it("would leave it there if the alert could end the workflow: the control", async (context) => {
      const { run, countOf, alerts } = await openAlerted(context);
      alerts.answerWith({ status: 500 });
      const strict = structuredClone(workflow);
      for (const node of strict.nodes) if (node.name === "Alert") delete node.onError;
      const { error } = await run({ alert_url: alerts.url }, strict);
      expect(error).toContain("Alert");
      expect(await countOf("queue")).toBe(2);
    });

    it("reports what cannot be put into the poison queue, and leaves it in the queue", async (context) => {
      const { n8n, run, countOf, alerts, poison } = await openAlerted(context);
      await poison.delete();
      const { error, ran } = await run({ alert_url: alerts.url });
      expect([error, ran.get("Delete the message"), ran.has("Alert")]).toEqual([undefined, 1, false]);
      expect(n8n.executions.map(({ path }) => path)).toEqual(["orders"]);
      expect(alerts.requests.map(({ body }) => JSON.parse(body.toString()) as object)).toEqual([
        {
          reason: "poison_queue_failed",
          description:
            "It could not be put into the poison queue (unreadable: It is no message of a gateway.) and stays in the queue.",
          source: "",
          event_id: "",
        },
      ]);
      expect(await countOf("queue")).toBe(1);
    });

    it.for([
      ["when the alert fails", "/alerts", 1],
      ["when there is no URL", "", undefined],
    ] as const)("leaves it in the queue also %s", async ([, path, alerted], context) => {
      const { run, countOf, alerts, poison } = await openAlerted(context);
      await poison.delete();
      alerts.answerWith({ status: 500 });
      const { error, ran } = await run({ alert_url: path === "" ? "" : `${alerts.url}${path}` });
      expect([error, ran.get("May that be reported"), ran.get("Alert that it stays")]).toEqual([undefined, 1, alerted]);
      expect([await countOf("queue"), alerts.requests.length]).toEqual([1, alerted ?? 0]);
    });

    it("says what is known of garbage", async (context) => {
      const { run, alerts } = await openAlerted(context);
      await run({ alert_url: alerts.url });
      const [alert] = alerts.requests.map(({ body }) => JSON.parse(body.toString()) as object);
      const description = "It is no message of a gateway.";
      expect(alert).toEqual({ reason: "unreadable", description, source: "", event_id: "" });
    });

    it("alerts nobody when it is empty", async (context) => {
      const { run, countOf, alerts } = await openAlerted(context);
      const { error, ran } = await run({ alert_url: "" });
      expect([error, ran.has("Alert"), ran.get("Delete the message")]).toEqual([undefined, false, 2]);
      expect([alerts.requests.length, await countOf("poison")]).toEqual([0, 1]);
    });
  });
});
