import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROJECT_ROOT } from "../../test/support/sample-checkout.ts";
import type { Ending, Example, Story } from "../support/example.ts";
import { CLI, describeGateway, exportsOf, openGateway, type ExampleGateway } from "../support/gateway.ts";
import { describePartner, readPartner, type DairyFigures } from "./figures.ts";
import { joinConfigs } from "./join-configs.ts";
import { openBus, type Bus } from "./world/bus.ts";
import { createOrder, FARM } from "./world/events.ts";
import { openPartner, type Partner } from "./world/partner.ts";
import { createProducers, type Producers, type Publish } from "./world/producers.ts";
import { openServices, type Services } from "./world/services.ts";

const DEFAULT_RATE = 20;
/** More than 10 dead letters in a row suspend a partner. */
const ORDERS = 12;
const TELL_EVERY = 4;
const SLOW_MS = 800;

export const smartDairy: Example<DairyFigures> = {
  name: "smart-dairy",
  summary: "a dairy's events for partners, customers by e-mail and SMS, and analytics",
  introduction:
    "A dairy publishes what happens in its shop, on its farm and at its sensors. Partners get webhooks, customers " +
    "e-mail and SMS, the analytics pipeline rows. One partner is slow, one is broken.",
  flags: {
    "--rate N": `readings of sensors a second (${DEFAULT_RATE})`,
    "--amqp URL": "the RabbitMQ that orders come by; an installed one is started where none is named",
    "--no-bus": "without RabbitMQ: orders come by HTTP",
  },
  walk,
};

interface Dairy {
  gateway: ExampleGateway;
  services: Services;
  bus: Bus | undefined;
  partners: Record<"inventory" | "accounting" | "shipping", Partner>;
}

async function walk(story: Story): Promise<Ending<DairyFigures>> {
  const dairy = await open(story);
  await signUp(story, dairy);
  await tellRefusedOrder(story, dairy);
  const producers = await produce(story, dairy);
  await tellSuspension(story, dairy);
  await checkAll(story, dairy, producers);
  return endWith(dairy, producers);
}

async function open(story: Story): Promise<Dairy> {
  const { step, passed, say } = story;
  step("Start the dairy's world and the gateway", "The gateway is examples/smart-dairy/consumers.yaml.");
  const services = await openServices(story);
  // Such as the dairy's own code made them, long before there was a gateway.
  const secret = () => randomBytes(32).toString("hex");
  const partners = {
    inventory: await openPartner(story, { name: "Inventory", secret: secret() }),
    accounting: await openPartner(story, { name: "Accounting", secret: secret(), slowMs: SLOW_MS }),
    shipping: await openPartner(story, { name: "Shipping", secret: secret(), brokenStatus: 404 }),
  };
  const bus = await openBus(story);
  if (bus === undefined) say("Without RabbitMQ here: orders come by HTTP, like everything else.");
  const gateway = await openGateway(story, {
    name: "gateway",
    example: "smart-dairy",
    config: "consumers.yaml",
    change: (yaml) => (bus === undefined ? yaml : joinConfigs(yaml, readExample("bus.yaml"))),
    env: () => createEnvironment(services, partners, bus),
  });
  if (bus !== undefined) await gateway.posthorn(["queue", "declare"], { isQuiet: true });
  await gateway.start();
  passed(`gateway at ${gateway.url}${bus === undefined ? "" : ", with RabbitMQ as its bus (bus.yaml)"}`);
  passed("partners Inventory and Accounting (slow), mailbox, SMS gateway, analytics");
  return { gateway, services, bus, partners };
}

const readExample = (file: string) => readFileSync(join(PROJECT_ROOT, "examples/smart-dairy", file), "utf8");

function createEnvironment(
  { mail, sms, analytics }: Services,
  { inventory, accounting }: Dairy["partners"],
  bus: Bus | undefined,
): Record<string, string> {
  return {
    DAIRY_SMTP_URL: mail.url,
    DAIRY_INVENTORY_URL: inventory.url,
    DAIRY_INVENTORY_SECRET: inventory.secret,
    DAIRY_ACCOUNTING_URL: accounting.url,
    DAIRY_ACCOUNTING_SECRET: accounting.secret,
    DAIRY_SMS_URL: `${sms.url}/send`,
    DAIRY_SMS_KEY: "sms-key",
    DAIRY_ANALYTICS_URL: `${analytics.url}/rows`,
    ...(bus !== undefined && { POSTHORN_AMQP_URL: bus.url }),
  };
}

async function signUp({ step, check, command }: Story, { gateway, partners: { shipping } }: Dairy): Promise<void> {
  step(
    "Another partner signs up",
    "Shipping works for one farm alone and keeps the secret that it has. Its endpoint is broken: it answers 404.",
  );
  writeFileSync(join(gateway.folder, "secret.txt"), shipping.secret);
  const tenant = ["tenants", "create", String(FARM)];
  command(`posthorn ${tenant.join(" ")}`);
  await gateway.posthorn(tenant, { isQuiet: true });
  const args = ["subscriptions", "create", "Shipping", "--to", shipping.url, "--events", "order.confirmed"];
  const owner = ["--tenant", String(FARM)];
  const limits = ["--secret-file", "secret.txt", "--retry-policy", "few", "--rate-limit", "100"];
  command(`posthorn ${[...args, ...owner, ...limits].join(" ")}`);
  await gateway.posthorn([...args, ...owner, ...limits], { isQuiet: true });
  const { status } = await readPartner(gateway, shipping);
  check("Shipping is subscribed: policy few, at most 100 a minute", status === "active");
}

async function tellRefusedOrder({ step, sent, answered, check }: Story, { gateway }: Dairy): Promise<void> {
  step("An order that does not fit the catalogue", "event-types/business.yaml says what an order must have.");
  const [order] = createOrder(0);
  const payload = { order_id: "1000" };
  sent(`POST /api/v1/events  {"event_type":"order.created","payload":${JSON.stringify(payload)}}`);
  const { status, json } = await gateway.api.publish({ ...order, payload });
  const errors = json["errors"] as { path?: string; field?: string; message: string }[] | undefined;
  const [first] = errors ?? [];
  answered(`${status} ${String(json["code"])}: ${first?.path ?? first?.field ?? ""} ${first?.message ?? ""}`);
  check("it is refused, and nobody gets it", status === 422);
}

async function produce(story: Story, { gateway, bus, partners, services }: Dairy): Promise<Producers> {
  const { step, say, settings, until } = story;
  const { rate = DEFAULT_RATE } = settings;
  step(
    "The producers publish",
    `The ERP sends ${ORDERS} orders${bus === undefined ? "" : " by RabbitMQ"}, phones send farm records, sensors ${rate} readings a second.`,
  );
  const publish: Publish = async (events) => {
    const { status, text } = await gateway.api.publish(events);
    if (status >= 300) throw new Error(`the gateway answered ${status}: ${text}`);
  };
  const producers = createProducers(story, { orders: ORDERS, rate, publish, publishOrders: bus?.publish ?? publish });
  const { inventory, accounting } = partners;
  await producers.run((number) => {
    if (number % TELL_EVERY !== 0) return;
    const events = countEvents(producers);
    say(
      `${number} orders, ${events} events in; Inventory has ${inventory.taken.length}, Accounting ${accounting.taken.length}, ` +
        `${services.mail.mails.length} e-mails, ${services.sms.requests.length} SMS`,
    );
  });
  if (bus !== undefined) await until("an empty bus", async () => (await bus.count("webhook.delivery")) === 0);
  await until("the deliveries", async () => (await countOpen(gateway)) === 0);
  return producers;
}

const countEvents = ({ published }: Producers) => Object.values(published).flat().length;

/** Without those that a suspended partner holds. */
async function countOpen({ api }: ExampleGateway): Promise<number> {
  const open = (await Promise.all(["pending", "sending"].map((status) => api.deliveries(`status=${status}`)))).flat();
  return open.filter(({ hold_reason: reason }) => reason !== "suspended").length;
}

async function tellSuspension({ step, check, until }: Story, dairy: Dairy): Promise<void> {
  const { gateway, partners, services, bus } = dairy;
  step(
    "Shipping is suspended",
    "More than 10 dead letters in a row: the gateway stops sending, and tells the operator.",
  );
  await until("the suspension", async () => (await readPartner(gateway, partners.shipping)).status === "suspended");
  await gateway.posthorn(["subscriptions", "--columns", "name,kind,status"]);
  await until("the e-mail to the operator", () => services.mail.mails.some(isToOperator));
  const { deadLetters } = await readPartner(gateway, partners.shipping);
  check(`Shipping has ${deadLetters} dead letters, and what came later is held`, deadLetters === 11);
  check("the operator has an e-mail about it", services.mail.mails.filter(isToOperator).length === 1);
  if (bus === undefined) return;
  const countFailed = () => bus.count("webhook.failed");
  await until("the dead letters on the bus", async () => (await countFailed()) >= deadLetters);
  check("the dairy's own queue webhook.failed has them too", (await countFailed()) === deadLetters);
}

const isToOperator = ({ to }: { to: readonly string[] }) => to.includes("operations@smartdairy.example");

async function checkAll(
  { step, check, answered }: Story,
  { partners, services }: Dairy,
  producers: Producers,
): Promise<void> {
  step("What arrived");
  const paid = Math.floor(ORDERS / 3);
  const { inventory, accounting, shipping } = partners;
  checkPartner(inventory, ORDERS);
  checkPartner(accounting, ORDERS + paid);
  const agents = [inventory, accounting, shipping].flatMap(({ userAgents }) => [...userAgents]);
  check(
    "every request came with User-Agent: SmartDairy-Webhook/1.0",
    agents.every((agent) => agent === "SmartDairy-Webhook/1.0"),
  );
  const letters = services.mail.mails.filter((mail) => !isToOperator(mail));
  const [letter] = letters;
  answered(`e-mail to ${letter?.to.join()}: ${letter?.headers.get("subject")}`);
  check(`${ORDERS} customers have an e-mail`, letters.length === ORDERS);
  answered(`SMS: ${services.sms.requests[0]?.body.toString("utf8")}`);
  check(`${ORDERS / 2} customers have an SMS`, services.sms.requests.length === ORDERS / 2);
  const rows = new Set(services.rows());
  const all = Object.values(producers.published).flat();
  check(
    `analytics has a row for each of the ${all.length} events`,
    rows.size === all.length && all.every((id) => rows.has(id)),
  );

  function checkPartner({ name, taken, forged }: Partner, wanted: number): void {
    check(`${name} verified every signature with its own secret`, forged === 0);
    check(`${name} has all ${wanted} events`, new Set(taken).size === wanted);
  }
}

async function endWith(dairy: Dairy, { published, goOn }: Producers): Promise<Ending<DairyFigures>> {
  const { gateway, services, bus, partners } = dairy;
  const shown: [string, Awaited<ReturnType<typeof readPartner>>][] = [];
  for (const partner of Object.values(partners)) shown.push([partner.name, await readPartner(gateway, partner)]);
  const [erp, mobile, iot] = [published.erp.length, published.mobile.length, published.iot.length];
  const figures: DairyFigures = {
    events: { erp, mobile, iot },
    partners: Object.fromEntries(shown),
    emails: services.mail.mails.length,
    sms: services.sms.requests.length,
    rows: services.rows().length,
    batches: services.analytics.requests.length,
    hasBus: bus !== undefined,
  };
  const by = bus === undefined ? "" : " by RabbitMQ";
  return {
    figures,
    summary: [
      ["events in", `${erp + mobile + iot}: ${erp} of the ERP${by}, ${mobile} of phones, ${iot} of sensors`],
      ...shown.map(([name, partner]) => [name, describePartner(partner)] as const),
      ["e-mails", `${figures.emails}, one of them to the operator`],
      ["SMS", figures.sms],
      ["analytics", `${figures.rows} rows in ${figures.batches} batches`],
    ],
    addresses: [
      ...describeGateway(gateway),
      ["catalogue", `${gateway.url}/catalog`],
      ...Object.values(partners).map(({ name, url }) => [name, url] as const),
      ["mailbox", services.mail.url],
    ],
    commands: [
      exportsOf(gateway),
      `${CLI} status`,
      `${CLI} dlq`,
      `${CLI} subscriptions show Shipping`,
      `${CLI} send milk.recorded --data '{"animal":"cow-1","litres":12.5}'`,
    ],
    goOn,
  };
}
