/** A day in the life of the example gateway, in a few seconds: its clock is moved on between what happens. */
import { createHmac } from "node:crypto";
import { createChance, type Chance } from "../../test/support/chance.ts";
import type { SinkAnswer } from "../../test/support/sink-server.ts";
import { until } from "../../test/support/api-client.ts";
import type { TestGateway } from "../../test/support/test-gateway.ts";
import { SECRETS, type Subscribed } from "./example-settings.ts";
import { must } from "./must.ts";
import type { OutsideWorld } from "./outside-world.ts";

const HOUR_MS = 3_600_000;
const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const BUSY_MINUTES = 62;
/** How long before the pictures are taken. */
const WAREHOUSE_DOWN_MIN = 11;
const QUIET_MS = 40;

/** The events and ids that the pictures are about. */
export interface Highlights {
  event: string;
  request: string;
  replay: string;
}

export interface Scenery {
  gateway: TestGateway;
  world: OutsideWorld;
  subscribed: Subscribed;
}

export async function playTheDay(scenery: Scenery): Promise<Highlights> {
  const { gateway, world } = scenery;
  const chance = createChance(42);
  misbehave(world, chance.fork());
  let replay = "";
  for (let hour = 0; hour < 23; hour += 1) {
    const isDay = hour < 6 || hour > 16;
    await publishSome(gateway, chance, chance.whole(isDay ? 24 : 5, isDay ? 40 : 12));
    await calmDown(scenery);
    gateway.moveClock(HOUR_MS);
    if (hour === 20) await replayCrm(scenery);
    if (hour === 21) replay = await replayEvents(scenery);
  }
  for (let minute = BUSY_MINUTES; minute > 0; minute -= 1) {
    if (minute === WAREHOUSE_DOWN_MIN)
      world.answer("warehouse.nordwind.example", () => failing(503, "Service Unavailable"));
    const swell = 6 + 4 * Math.sin(minute / 7);
    await publishSome(gateway, chance, Math.round(swell + chance.between(-2, 3)));
    if (minute % 9 === 0) await receiveSome(gateway, minute);
    if (minute === 5) await publishHighlight(gateway);
    await calmDown(scenery);
    gateway.moveClock(MINUTE_MS);
  }
  await receiveRejected(gateway);
  await pauseReplay(scenery);
  await calmDown(scenery);
  const rejected = await gateway.rejected("code");
  return { event: HIGHLIGHT, request: String(rejected[0]?.id), replay };
}

/**
 * Events come in while a picture is taken, until the function that is returned is called. Hardly more than the charts show:
 * who compares the figures must find them agree.
 */
export function keepComing({ gateway }: Scenery): () => Promise<void> {
  const chance = createChance(1);
  let [isOver, latest] = [false, Promise.resolve()];
  const timer = setInterval(() => {
    if (!isOver) latest = publishSome(gateway, chance, 1);
  }, 2000);
  return async () => {
    isOver = true;
    clearInterval(timer);
    await latest;
  };
}

const HIGHLIGHT = "order-2048-created";

async function publishHighlight(gateway: TestGateway): Promise<void> {
  const payload = `{"order_id":2048,"total":1249.5,"currency":"EUR","customer":"astrid.lindqvist","ledger":12345678901234567890,
    "lines":[{"article":"NW-4410","name":"Wool blanket, charcoal","quantity":2,"price":219.75},{"article":"NW-1207","name":"Oak tray","quantity":1,"price":810}],
    "ship_to":{"street":"Östra Hamngatan 16","city":"Göteborg","country":"SE"},"gift":false,"note":null}`;
  await must(
    gateway.request("POST", "/api/v1/events", {
      body: `{"event_type":"order.created","event_id":"${HIGHLIGHT}","ordering_key":"2048","metadata":{"channel":"web"},"payload":${payload}}`,
      headers: { "content-type": "application/json" },
    }),
  );
}

/** Who fails, and how. */
function misbehave(world: OutsideWorld, chance: Chance): void {
  world.answer("billing.nordwind.example", ({ body, headers }) => {
    const text = body.toString();
    if (text.includes('"order_id":2048'))
      return Number(headers["x-webhook-attempt"] ?? 3) < 3 ? failing(502, "Bad Gateway") : OK;
    if (chance.isTrue(0.02))
      return { status: 400, headers: JSON_TYPE, body: '{"error":"unknown currency","field":"currency"}' };
    return chance.isTrue(0.03) ? failing(500, "Internal Server Error") : OK;
  });
  world.answer("crm.globex.example", () => failing(422, "Procedure sp_UpsertCustomer has no parameter named '@note'."));
  world.answer("partner.initech.example", () =>
    chance.isTrue(0.02) ? { status: 429, headers: { "retry-after": "5" } } : OK,
  );
}

const JSON_TYPE = { "content-type": "application/json" };
const OK: SinkAnswer = { status: 200, headers: JSON_TYPE, body: '{"accepted":true}' };
const failing = (status: number, text: string): SinkAnswer => ({
  status,
  headers: { "content-type": "text/plain" },
  body: text,
});

async function publishSome(gateway: TestGateway, chance: Chance, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => must(gateway.publish(makeEvent(chance)))));
}

let orders = 2100;

function makeEvent(chance: Chance): object {
  const event_type = chance.pick(TYPES);
  const order_id = (orders += 1);
  const payload = {
    order_id,
    total: Math.round(chance.between(20, 900) * 100) / 100,
    currency: chance.pick(["EUR", "EUR", "SEK", "NOK"]),
    customer: chance.pick(["astrid.lindqvist", "m.okafor", "juergen.weiss", "saoirse", "li.wei"]),
  };
  const tenant_id = event_type === "customer.updated" ? "globex" : chance.isTrue(0.1) ? "initech" : "default";
  return {
    event_type,
    event_id: `order-${order_id}-${event_type.split(".")[1]}`,
    ordering_key: String(order_id),
    payload,
    tenant_id,
  };
}

/** By how often they come. */
const TYPES = [
  "order.created",
  "order.created",
  "order.created",
  "order.paid",
  "order.paid",
  "order.shipped",
  "invoice.sent",
  "customer.updated",
  "stock.low",
  "order.cancelled",
];

async function receiveSome(gateway: TestGateway, n: number): Promise<void> {
  const push = JSON.stringify({
    ref: "refs/heads/main",
    after: `9fceb02d0ae598e95dc970b74767f19372d61af${n}`,
    pusher: { name: "astrid" },
  });
  await must(gateway.webhook("code", push, signed(push, "push", `72d3162e-cc78-11e3-81ab-4c9367dc09${10 + n}`)));
  const sold = JSON.stringify({ id: 5_000_000_000_000 + n, total_price: "129.00", currency: "SEK" });
  await must(gateway.webhook("shop", sold, shopHeaders(sold, n)));
}

function signed(body: string, event: string, id: string): Record<string, string> {
  const signature = createHmac("sha256", SECRETS.github).update(body).digest("hex");
  return { "x-hub-signature-256": `sha256=${signature}`, "x-github-event": event, "x-github-delivery": id };
}

function shopHeaders(body: string, n: number): Record<string, string> {
  return {
    "x-shopify-hmac-sha256": createHmac("sha256", SECRETS.shop).update(body).digest("base64"),
    "x-shopify-topic": "orders/create",
    "x-shopify-webhook-id": `b54557e4-bdd9-4b37-8a5f-${n}`,
    "x-shopify-shop-domain": "nordwind.myshopify.example",
  };
}

async function receiveRejected(gateway: TestGateway): Promise<void> {
  await gateway.webhook("code", '{"ref":"refs/heads/release"}', {
    "x-hub-signature-256": `sha256=${"0".repeat(64)}`,
    "x-github-event": "push",
  });
  gateway.moveClock(7000);
  await gateway.webhook("crm", "name=Astrid&city=G%C3%B6teborg", {
    "content-type": "application/x-www-form-urlencoded",
  });
  gateway.moveClock(12_000);
  await gateway.webhook("crm", '{"customer": 17, "name": "Astrid');
  gateway.moveClock(4000);
  const starred = '{"action":"created","repository":{"full_name":"nordwind/shop"}}';
  await gateway.webhook("code", starred, signed(starred, "star", "72d3162e-cc78-11e3-81ab-4c9367dc0999"));
  gateway.moveClock(31_000);
  await gateway.webhook("shop", '{"id":1}', {
    "x-shopify-hmac-sha256": "bm90IGl0",
    "x-shopify-topic": "orders/create",
  });
}

/** What was suspended is resumed once, and fails again. */
async function replayCrm({ gateway, subscribed }: Scenery): Promise<void> {
  await gateway.post(`/api/v1/subscriptions/${subscribed.crm}/resume`);
  await must(gateway.post("/api/v1/replays", { kind: "dead_letters", filter: { subscription_id: subscribed.crm } }));
}

/** One that is over when the pictures are taken. */
async function replayEvents({ gateway, subscribed }: Scenery): Promise<string> {
  const since = new Date(gateway.now() - 6 * HOUR_MS).toISOString();
  const filter = { subscription_id: subscribed.erp, since };
  const id = String((await must(gateway.post("/api/v1/replays", { kind: "events", filter }))).json["id"]);
  await until(
    async () => {
      // It pauses between its steps.
      gateway.moveClock(200);
      return (await gateway.get(`/api/v1/replays/${id}`)).json["status"] === "completed";
    },
    120_000,
    "the end of the replay",
  );
  return id;
}

/** One that somebody stopped at once. */
async function pauseReplay({ gateway, subscribed }: Scenery): Promise<void> {
  const filter = { subscription_id: subscribed.crm };
  const { json } = await must(gateway.post("/api/v1/replays", { kind: "dead_letters", filter }));
  await gateway.post(`/api/v1/replays/${String(json["id"])}/pause`);
}

/** Until nothing is being sent, and what waits is not due. */
async function calmDown({ gateway, world }: Scenery): Promise<void> {
  let before = -1;
  await until(
    async () => {
      const counted = world.answered();
      const isSending = (await gateway.deliveries("status=sending")).length > 0;
      const isQuiet = counted === before && !isSending;
      // E-mails may wait for their rate: then time must pass.
      if (isSending && counted === before) gateway.moveClock(SECOND_MS);
      before = counted;
      if (!isQuiet) await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      return isQuiet;
    },
    120_000,
    "the end of all attempts",
  );
}
