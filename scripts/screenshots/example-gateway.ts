/** A gateway with a day of lively example data, in a time of its own: pictures of the same sources look the same. */
import { startTestGateway, type TestGateway } from "../../test/support/test-gateway.ts";
import { configure } from "./example-settings.ts";
import { keepComing, playTheDay } from "./example-traffic.ts";
import { must } from "./must.ts";
import { openOutsideWorld } from "./outside-world.ts";

/** When the pictures are taken. */
const NOW = Date.parse("2026-03-12T13:24:00.000Z");
const BEGIN = NOW - 25 * 3_600_000;

export interface ExampleGateway {
  gateway: TestGateway;
  /** What the page about one thing shows, by page. */
  shown: Readonly<Record<string, string>>;
  /** Events come in until the function that is returned is called. */
  keepComing(): () => Promise<void>;
  close(): Promise<void>;
}

export async function openExampleGateway(): Promise<ExampleGateway> {
  const world = await openOutsideWorld();
  const gateway = await startTestGateway({ yaml: world.settings, env: { ALERTS_ENABLED: true }, startAt: BEGIN });
  const close = async () => {
    await gateway.close();
    await world.close();
  };
  try {
    gateway.holdClock();
    world.onWork(gateway.moveClock);
    const subscribed = await configure(gateway);
    const scenery = { gateway, world, subscribed };
    const { event, request, replay } = await playTheDay(scenery);
    const alert = await findAlert(gateway);
    const shown = {
      events: event,
      subscriptions: subscribed.billing,
      targets: "warehouse",
      requests: request,
      bulk: replay,
      sources: "shop",
      "event-types": "order.created",
      validation: "shop-orders",
      alerts: alert,
      tenants: "globex",
      portal: await linkForPartner(gateway),
      "dead-letters.narrowed": subscribed.crm,
      "sources-one.smartsheet": "sheets",
      "sources-one.queue": "orders-queue",
      "validation-one.edit": "shop-orders",
      "validation-one.try": "shop-orders",
    };
    return { gateway, shown, keepComing: () => keepComing(scenery), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Its address below the gateway's own: the public one leads nowhere here. */
async function linkForPartner(gateway: TestGateway): Promise<string> {
  const theme = { name: "Nordwind webhooks", accent: "#0a7d4f" };
  const { json } = await must(gateway.post("/api/v1/tenants/initech/portal-link", { theme }));
  const { pathname, hash } = new URL(String(json["url"]));
  return `${pathname}/subscriptions${hash}`;
}

async function findAlert(gateway: TestGateway): Promise<string> {
  const { json } = await gateway.get("/api/v1/alerts?status=active");
  const alerts = json["data"] as { id: string; rule: string }[];
  return (alerts.find(({ rule }) => rule === "dead_letters") ?? alerts[0])?.id ?? "none";
}
