import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verify } from "../../sdk/src/index.ts";
import { exampleEnvironment, hasten, readStatus, SECRET, TOKEN } from "../../test/support/n8n-example.ts";
import type { Ending, Story } from "../support/example.ts";
import { CLI, describeGateway, exportsOf, openGateway, type ExampleGateway } from "../support/gateway.ts";
import { countByStatus, describeAnswers, describeRuns, type N8nFigures } from "./figures.ts";
import { openN8n, type N8n, type WorkflowRun } from "./world/n8n.ts";
import { isInOrder, openShop, type SentOrder, type Shop } from "./world/shop.ts";

const ORDERS_MEANWHILE = 9;

/** `posthorn.yaml`: one gateway, which keeps on its own disk what n8n cannot take. */
export async function tellOfOneGateway(story: Story): Promise<Ending<N8nFigures>> {
  const { check, step, until } = story;
  step("Start n8n and the gateway", "The gateway is examples/n8n-proxy/posthorn.yaml, in a temporary folder.");
  const n8n = await openN8n(story);
  const gateway = await openGateway(story, {
    name: "gateway",
    example: "n8n-proxy",
    config: "posthorn.yaml",
    change: hasten,
    env: () => exampleEnvironment(n8n.url),
  });
  await gateway.start();
  story.passed(`${n8n.name} at ${n8n.url}, the gateway at ${gateway.url}`);
  story.say(
    "So that you need not wait, health checks and retries come five times a second, not every 60 and 30 seconds.",
  );
  const shop = openShop(story, gateway.url);
  const mode = async () => (await readStatus(gateway.url, gateway.key)).mode;
  const countWaiting = async () => (await readStatus(gateway.url, gateway.key)).queue_length;

  step("n8n is well: an order is forwarded", "The sender waits until n8n has it.");
  check("the sender was told: 200 forwarded", (await shop.send()) === 200);
  await until("the first workflow", async () => (await n8n.runs()).length > 0);
  await checkRun(story, await n8n.runs(), shop.accepted[0]);
  await tellAttempt(story, gateway);
  check("without the right token: 401, and n8n sees nothing of it", (await shop.send({}, "a-wrong-token")) === 401);

  step("n8n goes down", "Its power fails. The shop goes on selling.");
  await n8n.kill();
  const meanwhile = await shop.sendMany(ORDERS_MEANWHILE);
  check(
    "every sender was told: 202 queued",
    meanwhile.every((status) => status === 202),
  );
  await until("the mode QUEUE", async () => (await mode()) === "QUEUE");
  story.passed("the gateway is in the mode QUEUE: from now on nobody waits for n8n");
  await gateway.posthorn(["targets"]);

  step("Change what an order must look like", "The gateway runs on, and the new rule holds at once.");
  await requirePhone(gateway);
  check("an order without a phone number: 422, not kept", (await shop.send()) === 422);
  check("an order with one: 202", (await shop.send({ phone: "+48 22 000 00 00" })) === 202);

  step("n8n comes back", "While it starts, n8n says 200 to everything and then 404. The gateway knows that.");
  await n8n.boot();
  await until("the mode NORMAL", async () => (await mode()) === "NORMAL");
  await until("an empty queue", async () => (await countWaiting()) === 0);
  const runs = await n8n.runs();
  checkArrival(story, runs, shop);
  story.passed("the gateway is in the mode NORMAL again");
  check("the next order is forwarded: 200", (await shop.send({ phone: "+48 22 000 00 01" })) === 200);
  await until("an empty queue", async () => (await countWaiting()) === 0);
  return endWith(gateway, n8n, shop);
}

async function checkRun({ check }: Story, [run]: readonly WorkflowRun[], order: SentOrder | undefined): Promise<void> {
  if (run?.request === undefined) return check(`n8n ran the workflow for ${order?.id}`, run?.orderId === order?.id);
  const { raw, headers } = run.request;
  check("n8n ran the workflow with the very bytes of the shop", raw.toString() === order?.body);
  const isVerified = await verify(raw, headers, SECRET).then(
    () => true,
    () => false,
  );
  check("its signature is verified with the SDK", isVerified);
}

async function tellAttempt({ answered, until }: Story, { api }: ExampleGateway): Promise<void> {
  await until("the first attempt", async () => (await api.deliveries("status=delivered")).length > 0);
  const [first] = await api.deliveries("status=delivered");
  const [attempt] = (await api.delivery(first?.id ?? "")).attempts;
  answered(`n8n's answer, in the log of attempts: ${attempt?.response_code} ${String(attempt?.["response_body"])}`);
}

async function requirePhone({ folder, posthorn }: ExampleGateway): Promise<void> {
  const schema = JSON.parse(readFileSync(join(folder, "validations/orders.json"), "utf8")) as { required: string[] };
  const stricter = { ...schema, required: [...schema.required, "phone"] };
  writeFileSync(join(folder, "orders-with-phone.json"), JSON.stringify(stricter));
  await posthorn(["validations", "put", "orders", "orders-with-phone.json"]);
}

function checkArrival({ check }: Story, runs: readonly WorkflowRun[], { accepted }: Shop): void {
  const ids = runs.map(({ orderId }) => orderId);
  const distinct = new Set(ids);
  const missing = accepted.filter(({ id }) => !distinct.has(id));
  check(`n8n has all ${accepted.length} orders that were accepted`, missing.length === 0);
  check("each of them once", distinct.size === ids.length);
  check("each customer's in their order", isInOrder(accepted, ids));
}

async function endWith(gateway: ExampleGateway, n8n: N8n, shop: Shop): Promise<Ending<N8nFigures>> {
  const ids = (await n8n.runs()).map(({ orderId }) => orderId);
  const figures: N8nFigures = {
    sent: shop.statuses.length,
    accepted: shop.accepted.length,
    answers: countByStatus(shop.statuses),
    ran: ids.length,
    repeated: ids.length - new Set(ids).size,
    deadLetters: (await gateway.api.deadLetters()).length,
    mode: (await readStatus(gateway.url, gateway.key)).mode,
  };
  const curl =
    `curl ${gateway.url}/webhook/orders -H 'X-Webhook-Token: ${TOKEN}' -H 'Content-Type: application/json' ` +
    `-d '{"id":"ord-100","customer":{"id":"cus-1"},"lines":[{"sku":"A","quantity":1}],"phone":"1"}'`;
  return {
    figures,
    summary: [
      ["orders sent", `${figures.sent}: ${describeAnswers(figures.answers)}`],
      ["accepted", figures.accepted],
      ["workflows run", describeRuns(figures)],
      ["dead letters", figures.deadLetters],
      ["mode", figures.mode],
    ],
    addresses: [...describeGateway(gateway), ["n8n", n8n.url]],
    commands: [exportsOf(gateway), `${CLI} status`, `${CLI} events`, `${CLI} targets mode n8n-at-home QUEUE`, curl],
    goOn: () => shop.sendQuietly({ phone: "+48 22 000 00 02" }),
  };
}
