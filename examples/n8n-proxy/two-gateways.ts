import { randomBytes } from "node:crypto";
import { QueueServiceClient } from "@azure/storage-queue";
import { exampleEnvironment, hasten, readStatus } from "../../test/support/n8n-example.ts";
import { startAzurite } from "../../test/support/services/azurite.ts";
import type { Ending, Story } from "../support/example.ts";
import { CLI, describeGateway, exportsOf, openGateway, type ExampleGateway } from "../support/gateway.ts";
import { countByStatus, describeAnswers, describeRuns, type N8nFigures } from "./figures.ts";
import { openN8n } from "./world/n8n.ts";
import { isInOrder, openShop, type SentOrder } from "./world/shop.ts";

const QUEUE = "webhooks";
const ORDERS_MEANWHILE = 15;

interface TwoGateways {
  vps: ExampleGateway;
  home: ExampleGateway;
}

/** `vps.yaml` and `home.yaml`: what n8n cannot take waits in a cloud queue, from which a gateway at home takes it. */
export async function tellOfTwoGateways(story: Story): Promise<Ending<N8nFigures>> {
  const { check, step, until } = story;
  step(
    "Start n8n, a queue and two gateways",
    "The gateway on the VPS is examples/n8n-proxy/vps.yaml, the one at home home.yaml. Azurite stands in for Azure Storage.",
  );
  const n8n = await openN8n(story);
  const azurite = await story.world.own("Azurite", startAzurite(), (opened) => opened?.close() ?? Promise.resolve());
  if (azurite === undefined) throw new Error("Azurite is not installed: npm install brings it");
  const { connectionString } = azurite;
  const { vps, home } = await openBoth(story, n8n.url, connectionString);
  await vps.posthorn(["queue", "declare"]);
  await Promise.all([vps.start(), home.start()]);
  story.passed(`${n8n.name} at ${n8n.url}, VPS at ${vps.url}, home at ${home.url}`);
  const shop = openShop(story, vps.url);
  const queue = QueueServiceClient.fromConnectionString(connectionString).getQueueClient(QUEUE);
  const countQueued = async () => (await queue.getProperties()).approximateMessagesCount ?? 0;
  const vpsMode = async () => (await readStatus(vps.url, vps.key)).mode;

  step("All is well: the VPS forwards straight to n8n");
  check("the sender was told: 200 forwarded", (await shop.send()) === 200);

  step("The power fails at home", "n8n and the gateway beside it are gone. The VPS puts orders into the queue.");
  await Promise.all([n8n.kill(), home.stop("SIGKILL")]);
  const meanwhile = await shop.sendMany(ORDERS_MEANWHILE);
  check(
    "every sender was told: 202 queued",
    meanwhile.every((status) => status === 202),
  );
  await until("the orders in the queue", async () => (await countQueued()) === ORDERS_MEANWHILE);
  story.passed(`the queue ${QUEUE} holds ${ORDERS_MEANWHILE} messages; the VPS keeps none back`);

  step("The power comes back", "The gateway at home takes from the queue what n8n can take.");
  await Promise.all([home.start(), n8n.boot()]);
  await until("all orders at n8n", async () => (await n8n.runs()).length >= shop.accepted.length);
  await until("an empty queue", async () => (await countQueued()) === 0);
  checkArrived(
    story,
    shop.accepted,
    (await n8n.runs()).map(({ orderId }) => orderId),
  );
  await until("the mode NORMAL on the VPS", async () => (await vpsMode()) === "NORMAL");
  check("the queue is empty, and the VPS forwards again: 200", (await shop.send()) === 200);

  const ids = (await n8n.runs()).map(({ orderId }) => orderId);
  const deadLetters = await Promise.all([vps, home].map(({ api }) => api.deadLetters()));
  const figures: N8nFigures = {
    sent: shop.statuses.length,
    accepted: shop.accepted.length,
    answers: countByStatus(shop.statuses),
    ran: ids.length,
    repeated: ids.length - new Set(ids).size,
    deadLetters: deadLetters.flat().length,
    mode: await vpsMode(),
  };
  return {
    figures,
    summary: [
      ["orders sent", `${figures.sent}: ${describeAnswers(figures.answers)}`],
      ["through the queue", ORDERS_MEANWHILE],
      ["workflows run", describeRuns(figures)],
      ["dead letters", figures.deadLetters],
    ],
    addresses: [...describeGateway(vps), ["home", `${home.url}  (key ${home.key})`], ["n8n", n8n.url]],
    commands: [exportsOf(vps), `${CLI} status`, `${CLI} deliveries`, `${CLI} targets mode n8n-at-home QUEUE`],
    goOn: () => shop.sendQuietly(),
  };
}

async function openBoth(story: Story, n8nUrl: string, connectionString: string): Promise<TwoGateways> {
  const env = {
    ...exampleEnvironment(n8nUrl),
    HOME_N8N_URL: n8nUrl,
    AZURE_STORAGE_CONNECTION_STRING: connectionString,
    MESSAGE_KEY: randomBytes(16).toString("hex"),
    QUEUE,
  };
  const common = { example: "n8n-proxy", env: () => env };
  const vps = await openGateway(story, { ...common, name: "gateway on the VPS", config: "vps.yaml", change: hasten });
  const home = await openGateway(story, {
    ...common,
    name: "gateway at home",
    config: "home.yaml",
    change: (yaml) => hasten(yaml, "HOME_N8N_URL").replace("idle_wait_s: 30", "idle_wait_s: 0.2"),
  });
  return { vps, home };
}

function checkArrived({ check }: Story, sent: readonly SentOrder[], arrivedIds: readonly string[]): void {
  const arrived = new Set(arrivedIds);
  check(
    `n8n has all ${sent.length} orders`,
    sent.every(({ id }) => arrived.has(id)),
  );
  check("each of them once", arrived.size === arrivedIds.length);
  check("each customer's in their order", isInOrder(sent, arrivedIds));
}
