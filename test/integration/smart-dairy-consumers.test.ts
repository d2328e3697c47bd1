import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { openMailServer, type MailServer } from "../support/mail-server.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { verifyPlain } from "../support/verify-signature.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/smart-dairy/", import.meta.url));
const FILE = `${EXAMPLE}consumers.yaml`;

/** Such as `secrets.token_hex(32)` and `secrets.token_urlsafe(32)` of the dairy's own code made them. */
const SECRETS = { inventory: "9f".repeat(32), accounting: "Zm9v-YmFy_".repeat(4) };

const ORDER = {
  order_id: 1001,
  order_number: "SO-2026-1001",
  customer_id: 42,
  customer_email: "karim@example.com",
  amount_total: 1250.5,
  items: [{ product_id: 7, name: "Milk <1 l>", quantity: 10, price: 95 }],
};

let gateway: TestGateway;
let mail: MailServer;
let sinks: Record<"inventory" | "accounting" | "sms" | "analytics", SinkServer>;

const variables = () => ({
  DAIRY_SMTP_URL: mail.url,
  DAIRY_INVENTORY_URL: `${sinks.inventory.url}/hooks`,
  DAIRY_INVENTORY_SECRET: SECRETS.inventory,
  DAIRY_ACCOUNTING_URL: `${sinks.accounting.url}/hooks`,
  DAIRY_ACCOUNTING_SECRET: SECRETS.accounting,
  DAIRY_SMS_URL: `${sinks.sms.url}/send`,
  DAIRY_SMS_KEY: "sms-key",
  DAIRY_ANALYTICS_URL: `${sinks.analytics.url}/rows`,
});

beforeAll(async () => {
  mail = await openMailServer();
  sinks = {
    inventory: await openSinkServer(),
    accounting: await openSinkServer(),
    sms: await openSinkServer({ answer: { status: 200, body: '{"status":"ok"}' } }),
    analytics: await openSinkServer(),
  };
  let yaml = readFileSync(FILE, "utf8").replace(
    "event_types_dir: event-types",
    `event_types_dir: ${EXAMPLE}event-types`,
  );
  for (const [name, value] of Object.entries(variables())) yaml = yaml.replaceAll(`\${${name}}`, value);
  gateway = await startTestGateway({ yaml });
});
afterAll(async () => {
  await gateway.close();
  for (const sink of Object.values(sinks)) await sink.close();
  await mail.close();
});

describe("the dairy with its consumers", () => {
  it("loads from anywhere with the variables that its README names, and names the first that is missing", () => {
    const { warnings } = loadConfig({ file: FILE, env: variables(), cwd: "/" });
    expect(warnings).toEqual([]);
    const readme = readFileSync(`${EXAMPLE}README.md`, "utf8");
    for (const name of Object.keys(variables())) expect(readme).toContain(`\`${name}\``);
    expect(() => loadConfig({ file: FILE, env: {}, cwd: "/" })).toThrow(/DAIRY_SMTP_URL/);
  });

  it("sends each partner only what its event types name it for", () => {
    const { config } = loadConfig({ file: FILE, env: variables(), cwd: "/" });
    const consumersOf = new Map(config.eventTypes.map(({ name, consumers }) => [name, consumers ?? []]));
    const partners = config.subscriptions.filter(({ kind = "http" }) => kind === "http");
    const sent = partners.flatMap(({ name, events }) => events.map((type) => [name, type] as const));
    expect(sent).toContainEqual(["Accounting", "payment.received"]);
    expect(sent.filter(([name, type]) => consumersOf.get(type)?.includes(name) !== true)).toEqual([]);
  });

  // shows: C7
  it("delivers one order by webhook, e-mail, SMS and to analytics", async () => {
    const metadata = { phone: "01712-345678" };
    const event = { event_type: "order.created", source: "odoo-sales", tenant_id: 7, payload: ORDER, metadata };
    const { json } = await gateway.publish(event);
    const eventId = String(json["event_id"]);
    expect(json["deliveries"]).toBe(5);
    await gateway.settled();
    expect(await gateway.event(eventId)).toMatchObject({ status: "COMPLETED" });

    for (const partner of ["inventory", "accounting"] as const) {
      const [request] = await sinks[partner].received(1);
      const body = request?.body ?? Buffer.alloc(0);
      expect(request?.headers["user-agent"]).toBe("SmartDairy-Webhook/1.0");
      expect(request?.headers["x-webhook-event"]).toBe("order.created");
      // As the partners verify it today, with the secret that they have.
      expect(request?.headers["x-webhook-signature"]).toBe(verifyPlain(SECRETS[partner], body));
      expect(JSON.parse(body.toString())).toMatchObject({ event: "order.created", event_id: eventId, data: ORDER });
    }

    const [letter] = await mail.received(1);
    expect([letter?.from, letter?.to]).toEqual(["orders@smartdairy.example", ["karim@example.com"]]);
    expect(letter?.headers.get("subject")).toBe("Your order SO-2026-1001");
    expect(letter?.raw).toContain("10 x Milk <1 l>");
    expect(letter?.raw).toContain("<b>SO-2026-1001</b>");
    expect(letter?.raw).toContain("1250.5 BDT");

    const [sms] = await sinks.sms.received(1);
    expect(sms?.headers["authorization"]).toBe("Bearer sms-key");
    expect(JSON.parse(sms?.body.toString() ?? "")).toMatchObject({
      to: "+8801712345678",
      from: "SmartDairy",
      text: "Order SO-2026-1001 is here. Total 1250.5 BDT.",
    });

    const [batch] = await sinks.analytics.received(1);
    const rows = (batch?.body.toString() ?? "").trimEnd().split("\n");
    expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual([
      expect.objectContaining({ event_id: eventId, event_type: "order.created", data: ORDER }),
    ]);
  });

  // shows: C27
  it("keeps to the design: four tries by the policy `few`, and 100 a minute for each partner", async () => {
    const { json } = await gateway.get("/api/v1/subscriptions?limit=100");
    const shown = json["data"] as { name: string; kind: string; retry_policy: string; rate_limit: number | null }[];
    expect(new Set(shown.map(({ retry_policy: policy }) => policy))).toEqual(new Set(["few"]));
    const partners = shown.filter(({ kind }) => kind === "http");
    expect(partners.map(({ name, rate_limit: limit }) => [name, limit])).toEqual([
      ["Inventory", 100],
      ["Accounting", 100],
    ]);
    sinks.inventory.answerWith({ status: 503 });
    const { json: published } = await gateway.publish({ event_type: "order.cancelled", payload: { order_id: 1001 } });
    const eventId = String(published["event_id"]);
    const findDelivery = async () => {
      const { deliveries } = await gateway.event(eventId);
      const ids = deliveries.map(({ id }) => gateway.delivery(id));
      return (await Promise.all(ids)).find(({ attempts }) => attempts.some(({ response_code: code }) => code === 503));
    };
    for (const tries of [1, 2, 3, 4]) {
      await expect.poll(async () => (await findDelivery())?.attempt_count, { timeout: 60_000 }).toBe(tries);
      gateway.moveClock(15 * 60_000);
    }
    expect(await findDelivery()).toMatchObject({ status: "dead", dead_reason: "retries_exhausted" });
    sinks.inventory.answerWith({ status: 200 });
  });

  it("sends what applications write themselves", async () => {
    const [mails, messages] = [mail.mails.length, sinks.sms.requests.length];
    await gateway.publish({
      event_type: "notification.email",
      payload: { to: "farm@example.com", subject: "Feed is low", text: "Order some." },
    });
    await gateway.publish({ event_type: "notification.sms", payload: { to: "01712345678", text: "Feed is low" } });
    const letters = await mail.received(mails + 1);
    expect(letters.at(-1)).toMatchObject({ to: ["farm@example.com"] });
    const sent = await sinks.sms.received(messages + 1);
    expect(JSON.parse(sent.at(-1)?.body.toString() ?? "")).toMatchObject({ to: "+8801712345678", text: "Feed is low" });
  });
});
