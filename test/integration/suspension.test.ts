import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const TARGET = (url: string) => `
targets:
  - name: shop
    health_url: ${url}/healthz
    health_interval_s: 0.1
    failures_to_open: 1
    successes_to_close: 1
`;
const WELL = { status: 200, body: '{"status":"ok"}', headers: { "content-type": "application/json" } };
const ILL = { status: 503 };

describe("a subscription that is suspended", () => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeEach(async () => {
    sink = await openSinkServer();
    gateway = await startTestGateway({ yaml: TARGET(sink.url) });
  });
  afterEach(() => Promise.all([gateway.close(), sink.close()]));

  const subscribe = (settings: object) => gateway.subscribe({ name: "shop", url: `${sink.url}/hook`, ...settings });
  const statusOf = async (id: string) => (await gateway.get(`/api/v1/subscriptions/${id}`)).json["status"];
  const status = async () => (await gateway.get("/status")).json;

  it("has limits of its own, which are off where there is a health check or somebody waits", async () => {
    const shown = async (settings: { name: string; [setting: string]: unknown }) => {
      const { id } = await gateway.subscribe({ url: `${sink.url}/hook`, ...settings });
      const { json } = await gateway.get(`/api/v1/subscriptions/${id}`);
      return [json["suspend_after_dead"], json["suspend_after_s"], json["resume_when_healthy"]];
    };
    expect(await shown({ name: "a" })).toEqual([10, 259_200, true]);
    expect(await shown({ name: "b", target: "shop" })).toEqual([null, null, true]);
    expect(await shown({ name: "c", health_url: `${sink.url}/healthz` })).toEqual([null, null, true]);
    expect(await shown({ name: "d", mode: "forward", events: ["webhook.d"] })).toEqual([null, null, true]);
    expect(await shown({ name: "e", target: "shop", suspend_after_dead: 3, suspend_after_s: 60 })).toEqual([
      3,
      60,
      true,
    ]);
    expect(await shown({ name: "f", suspend_after_dead: null, suspend_after_s: null })).toEqual([null, null, true]);
    expect(await shown({ name: "g", resume_when_healthy: false })).toEqual([10, 259_200, false]);
  });

  it("is shown with its reason, and goes on by itself when its health is good again", async () => {
    sink.answerWith(ILL);
    const { id } = await subscribe({ target: "shop", suspend_after_s: 1, events: ["#"] });
    await gateway.publish({ event_type: "order.made", payload: {} });
    await gateway.moveClockUntil(async () => (await statusOf(id)) === "suspended");
    const shown = await status();
    expect(shown).toMatchObject({ health: "error", queue_length: 1 });
    expect(shown["suspended"]).toMatchObject([
      { id, subscription: "shop", reason: expect.stringMatching(/^it could not be reached for 1 s: .*503/) },
    ]);
    // Its reason outlives a restart, and it is checked on after that.
    await gateway.restart();
    expect((await status())["suspended"]).toMatchObject([
      { id, reason: expect.stringContaining("could not be reached") },
    ]);
    sink.answerWith(WELL);
    await gateway.moveClockUntil(async () => (await statusOf(id)) === "active");
    await gateway.moveClockUntil(async () => Number((await status())["queue_length"]) === 0);
    expect((await status())["suspended"]).toEqual([]);
  });

  it("stays suspended when it was for another reason than being out of reach", async () => {
    sink.answerWith(({ path }) => (path === "/healthz" ? WELL : { status: 400 }));
    const { id } = await subscribe({ target: "shop", suspend_after_dead: 1, events: ["#"] });
    for (let n = 0; n < 2; n++) await gateway.publish({ event_type: "order.made", payload: { n } });
    await until(async () => (await statusOf(id)) === "suspended");
    expect((await status())["suspended"]).toMatchObject([{ reason: expect.stringContaining("in a row are dead") }]);
    // Another keeps the target checked.
    await gateway.subscribe({ name: "other", url: `${sink.url}/other`, target: "shop", events: ["other"] });
    const countChecks = () => sink.requests.filter(({ path }) => path === "/healthz").length;
    const before = countChecks();
    await until(() => countChecks() >= before + 3);
    expect(await statusOf(id)).toBe("suspended");
  });
});
