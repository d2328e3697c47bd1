import { generateAccountSASQueryParameters, StorageSharedKeyCredential } from "@azure/storage-queue";
import { connect } from "amqplib";
import { afterAll, afterEach, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { createConnections } from "../../../src/queues/connections.ts";
import { checkNeeded, declareNeeded, type Provision, listNeeded } from "../../../src/queues/provision.ts";
import type { ConnectionInput } from "../../../src/model/connection.ts";
import { createSeededRandom } from "../../support/seeded-random.ts";
import { createSystemClock } from "../../../src/model/clock.ts";
import { until } from "../../support/api-client.ts";
import { startServiceBus, type ServiceBusServer } from "../../support/service-bus/server.ts";
import { useAzurite, useRabbitMqPlace } from "../../support/services/shared.ts";
import { openSinkServer } from "../../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../../support/test-gateway.ts";

let bus: ServiceBusServer;
const opened: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  bus = await startServiceBus();
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});
afterAll(() => bus.stop());

const fieldOf = (text: string, name: string) => new RegExp(`${name}=([^;]*)`).exec(text)?.[1] ?? "";

/** As the owner of an account hands it out: for messages, and for no queues. */
function signAccess(connectionString: string, permissions: string): string {
  const credential = new StorageSharedKeyCredential(
    fieldOf(connectionString, "AccountName"),
    fieldOf(connectionString, "AccountKey"),
  );
  const signature = generateAccountSASQueryParameters(
    {
      services: "q",
      resourceTypes: "sco",
      permissions: { toString: () => permissions } as never,
      expiresOn: new Date(Date.now() + 3_600_000),
    },
    credential,
  );
  return `QueueEndpoint=${fieldOf(connectionString, "QueueEndpoint")};SharedAccessSignature=${signature.toString()}`;
}

interface Broker {
  kind: ConnectionInput["kind"];
  input: ConnectionInput;
  place: string;
}

/** With credentials that may send and take, and create nothing. */
async function openLimited(context: TestContext): Promise<Broker[]> {
  const { limitedUrl } = await useRabbitMqPlace(context);
  const storage = await useAzurite(context);
  const limited: ConnectionInput[] = [
    { name: "default", kind: "amqp", url: limitedUrl, topology: { namespace: "dairy" } },
    { name: "default", kind: "azure-service-bus", connection_string: bus.limitedConnectionString },
    { name: "default", kind: "azure-storage-queue", connection_string: signAccess(storage, "raup") },
  ];
  const places = [
    new URL(limitedUrl).host,
    fieldOf(bus.connectionString, "Endpoint").replace("sb://", ""),
    fieldOf(storage, "QueueEndpoint").replace("http://", ""),
  ];
  return limited.map((input, at) => ({ kind: input.kind, input, place: places[at] ?? "" }));
}

async function provision(step: typeof checkNeeded, brokers: readonly Broker[], queue: string): Promise<Provision[]> {
  const inputs = brokers.map(({ input }) => input);
  const clock = createSystemClock();
  const connections = createConnections({ connections: inputs, label: "test", clock, random: createSeededRandom(1) });
  const ask = () => Promise.reject(new Error("there is no management"));
  try {
    const wishes = listNeeded(
      inputs,
      inputs.map(({ kind }) => ({ kind, settings: { queue } })),
    );
    const results: Provision[] = [];
    for (const wish of wishes) results.push(await step(wish, { connections, inputs, ask }));
    return results;
  } finally {
    await connections.close();
  }
}

async function openGateway(yaml: object): Promise<TestGateway> {
  const gateway = await startTestGateway({ yaml: JSON.stringify(yaml) });
  opened.push(gateway);
  return gateway;
}

/** What `/status` says of each source, once it says something of all. */
async function troublesOf(gateway: TestGateway, count: number): Promise<Record<string, string>> {
  const list = async () => (await gateway.get("/status")).json["sources"] as { name: string; reason: string }[];
  await until(async () => (await list()).length === count, undefined, `${count} sources in trouble`);
  return Object.fromEntries((await list()).map(({ name, reason }) => [name, reason]));
}

const OTHERWISE =
  " Or run `posthorn queue declare` once with other credentials: the gateway itself needs no right to create.";

describe("credentials that may not create queues", () => {
  // shows: Q67
  it("are told so by declare, in one line that names the right", async (context) => {
    const { url, vhost } = await useRabbitMqPlace(context);
    const brokers = await openLimited(context);
    const [amqp, serviceBus, storage] = (await provision(declareNeeded, brokers, "denied")).map(({ error }) => error);
    expect(amqp).toBe(
      `RabbitMQ does not allow it: access to exchange 'dairy.delayed' in vhost '${vhost}' refused for user 'limited'. ` +
        "Give the user that right with `rabbitmqctl set_permissions`." +
        OTHERWISE,
    );
    expect(serviceBus).toBe(
      `Azure Service Bus at ${brokers[1]?.place} does not allow it: the connection string's policy lacks ` +
        `Manage,EntityWrite. Give it that right, or use a policy that has it.${OTHERWISE}`,
    );
    expect(storage).toBe(
      `Azure Storage at ${brokers[2]?.place} does not allow it (AuthorizationPermissionMismatch); give the shared ` +
        "access signature or the identity that right: read, add, update and process on queues, and create for " +
        `\`posthorn queue declare\`.${OTHERWISE}`,
    );
    // It is the credentials: whoever may create it does.
    const owner: Broker = {
      ...(brokers[0] as Broker),
      input: { ...(brokers[0] as Broker).input, url },
    };
    expect((await provision(declareNeeded, [owner], "denied"))[0]?.error).toBeUndefined();
  });

  // shows: Q67
  it("are enough for check to find what is missing, and it says what it could not compare", async (context) => {
    const { url } = await useRabbitMqPlace(context);
    const brokers = await openLimited(context);
    const before = await provision(checkNeeded, brokers, "unmade");
    expect(before[0]?.differences).toContain("queue unmade is missing");
    expect(before[1]?.error).toBe(
      `Azure Service Bus at ${brokers[1]?.place} does not allow it: the connection string's policy lacks ` +
        "Manage,EntityRead. Give it that right, or use a policy that has it.",
    );
    expect(before[2]?.differences).toEqual(["queue unmade is missing", "queue unmade-poison is missing"]);
    const owner: Broker = {
      ...(brokers[0] as Broker),
      input: { ...(brokers[0] as Broker).input, url },
    };
    await provision(declareNeeded, [owner], "made");
    const [after] = await provision(checkNeeded, brokers.slice(0, 1), "made");
    expect(after).toMatchObject({ differences: [], error: undefined });
    expect(after?.unchecked[0]).toBe(
      "arguments: exchange dairy.events, exchange dairy.webhooks, exchange dairy.dlx, queue webhook.delivery, queue " +
        "webhook.failed, queue made: they exist, but only a user who may configure them can compare their arguments; give " +
        "the user that right with `rabbitmqctl set_permissions`, or run this as another user",
    );
  });

  // shows: Q67
  it("leave a queue missing: the gateway says in one line what to do, and goes on with all else", async (context) => {
    const { vhost } = await useRabbitMqPlace(context);
    const brokers = await openLimited(context);
    const sink = await openSinkServer();
    opened.push(sink);
    const gateway = await openGateway({
      connections: brokers.map(({ input }) => input),
      sources: brokers.map(({ kind }) => ({ name: kind, kind, options: { queue: "absent" } })),
      subscriptions: [{ name: "all", url: sink.url, events: ["*"] }],
    });
    expect(await troublesOf(gateway, 3)).toEqual({
      amqp: `RabbitMQ cannot find it: no queue 'absent' in vhost '${vhost}'. Create it with \`posthorn queue declare\`.`,
      "azure-service-bus": `Azure Service Bus at ${brokers[1]?.place} has no queue "absent". Create it with \`posthorn queue declare\`.`,
      "azure-storage-queue": `Azure Storage at ${brokers[2]?.place} cannot find it (QueueNotFound). Create it with \`posthorn queue declare\`.`,
    });
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    await sink.received(1);
    const told = gateway.log.filter(({ msg }) => msg === "no messages can be received for a source; retrying");
    expect(told.map(({ source }) => String(source)).sort()).toEqual(brokers.map(({ kind }) => kind).sort());
    // The connections themselves are well.
    expect((await gateway.get("/readyz")).json["status"]).toBe("ok");
  });

  // shows: Q67
  it("do not take the connection from those who may", async (context) => {
    const storage = await useAzurite(context);
    const owner = { name: "default", kind: "azure-storage-queue", connection_string: storage } as const;
    await provision(declareNeeded, [{ kind: owner.kind, input: owner, place: "" }], "shared");
    // May add, and neither read nor take.
    const input = { ...owner, connection_string: signAccess(storage, "a") };
    const gateway = await openGateway({
      connections: [input],
      sources: [{ name: "in", kind: owner.kind, options: { queue: "shared" } }],
      subscriptions: [
        { name: "out", kind: owner.kind, events: ["*"], destination: { queue: "shared", format: "raw" } },
      ],
    });
    expect((await troublesOf(gateway, 1))["in"]).toContain("does not allow it (AuthorizationPermissionMismatch)");
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    await gateway.settled();
    expect((await gateway.get("/status")).json).toMatchObject({
      queue_length: 0,
      connections: [{ state: "connected" }],
    });
  });
});

describe("wrong credentials", () => {
  // shows: Q66
  it("are told of in one line for each connection, and the rest goes on", async (context) => {
    const place = await useRabbitMqPlace(context);
    const url = new URL(place.url);
    const storage = await useAzurite(context);
    url.password = "wrong-pass-word";
    const elsewhere = new URL(place.url);
    elsewhere.pathname = "/nowhere";
    const brokers = await openLimited(context);
    const connections: ConnectionInput[] = [
      { name: "password", kind: "amqp", url: url.href },
      { name: "vhost", kind: "amqp", url: elsewhere.href },
      { name: "bus", kind: "azure-service-bus", connection_string: bus.connectionString.replace("a key", "no key") },
      { name: "storage", kind: "azure-storage-queue", connection_string: storage.replace("Eby8", "AAAA") },
    ];
    const gateway = await openGateway({
      connections,
      sources: connections.map(({ name, kind }) => ({ name, kind, options: { queue: "absent", connection: name } })),
    });
    expect(await troublesOf(gateway, 4)).toEqual({
      password: `RabbitMQ at ${url.host}/${place.vhost} refuses the user or the password; correct them in the connection's url.`,
      vhost: `RabbitMQ at ${url.host}/nowhere has no such virtual host, or the user may not use it; correct the path of the url.`,
      bus:
        `Azure Service Bus at ${brokers[1]?.place} refuses the credentials; correct the connection string, or give the ` +
        "identity the right to send, listen and (for declare, check and depth) manage.",
      storage:
        `Azure Storage at ${brokers[2]?.place} refuses the credentials (AuthenticationFailed); correct the connection ` +
        "string, or give the identity the right to use the account's queues and blobs.",
    });
    expect((await gateway.webhook("shop", "{}")).status).toBe(202);
    const told = gateway.log.filter(({ msg }) => msg === "a broker is away, trying again");
    expect(told.map(({ connection }) => String(connection)).sort()).toEqual(["bus", "password", "storage", "vhost"]);
    expect(gateway.logText()).not.toContain("wrong-pass-word");
    for (const step of [checkNeeded, declareNeeded]) {
      const [result] = await provision(
        step,
        [{ ...(brokers[0] as Broker), input: { ...(connections[0] as ConnectionInput), name: "default" } }],
        "q",
      );
      expect(result?.error).toMatch(/refuses the user or the password; correct them in the connection's url\.$/);
    }
  });
});

describe("a queue that was declared with other arguments", () => {
  // shows: Q22, Q68
  it("is named by declare with the first difference, and by check with each", async (context) => {
    const { url, vhost } = await useRabbitMqPlace(context);
    const model = await connect(url);
    opened.push(model);
    const channel = await model.createChannel();
    await channel.assertQueue("other", {
      durable: true,
      arguments: { "x-queue-type": "quorum", "x-delivery-limit": 20 },
    });
    const input: ConnectionInput = { name: "default", kind: "amqp", url, topology: { namespace: "dairy" } };
    const [declared] = await provision(declareNeeded, [{ kind: "amqp", input, place: "" }], "other");
    expect(declared?.error).toBe(
      `RabbitMQ refuses: inequivalent arg 'x-dead-letter-exchange' for queue 'other' in vhost '${vhost}': received the ` +
        "value 'dairy.dlx' of type 'longstr' but current is none. `posthorn queue check` lists the differences from what " +
        "`posthorn queue declare` creates.",
    );
    const [checked] = await provision(checkNeeded, [{ kind: "amqp", input, place: "" }], "other");
    const anew = "; delete the queue and declare it again, or configure the existing value";
    expect(checked?.differences.toSorted()).toEqual([
      `queue other: x-dead-letter-exchange is not set, but should be "dairy.dlx"${anew}`,
      `queue other: x-dead-letter-routing-key is not set, but should be "webhook.failed"${anew}`,
      `queue other: x-delivery-limit is 20, but should be not set${anew}`,
    ]);
    // Whoever only takes from it needs no other arguments.
    const gateway = await openGateway({
      connections: [input],
      sources: [{ name: "in", kind: "amqp", options: { queue: "other" } }],
    });
    channel.sendToQueue("other", Buffer.from("{}"), { messageId: "m1", contentType: "application/json" });
    await until(async () => ((await gateway.get("/api/v1/events")).json["data"] as unknown[]).length === 1);
  });
});
