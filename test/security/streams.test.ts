import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { openStream, type TestStream } from "../support/stream-client.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const OWN_EVENTS = 20;

describe("the live stream of a tenant", () => {
  let gateway: TestGateway;
  let sink: SinkServer;
  beforeEach(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  });
  afterEach(async () => {
    await Promise.all([gateway.close(), sink.close()]);
  });

  /** Events, attempts and a mode of each of two tenants, one after the other. */
  async function makeTraffic(): Promise<void> {
    for (const tenant of ["mine", "theirs"]) {
      const client = gateway.as(await gateway.createKey(["admin"], tenant));
      await client.subscribe({ name: `${tenant}-sub`, url: sink.url });
      for (let n = 0; n < OWN_EVENTS; n++) {
        expect(
          (await client.publish({ event_type: `${tenant}.made`, payload: { secret: `${tenant}-${n}` } })).status,
        ).toBe(202);
      }
      await gateway.settled();
      const [target] = (await client.get("/api/v1/targets")).json["data"] as { name: string }[];
      await client.post(`/api/v1/targets/${encodeURIComponent(target?.name ?? "")}/mode`, { mode: "QUEUE" });
    }
  }

  const tenantsOf = (stream: TestStream) => [...new Set(stream.frames.flatMap(({ data }) => data.tenant_id ?? []))];

  it("shows nothing of another's, neither live nor when it comes back, whatever it asks for", async () => {
    const key = await gateway.createKey(["read"], "mine");
    const queries = ["body=true", "tenant_id=theirs&body=base64", "types=attempt&tenant_id=theirs", "types=mode,alert"];
    const live = await Promise.all(queries.map((query) => openStream(gateway.url, { key, query })));
    const everything = await openStream(gateway.url, { query: "body=true" });
    await Promise.all([...live, everything].map((stream) => stream.received("ready", 1)));
    const begin = live[0]?.lastEventId();
    await makeTraffic();
    // Whatever there is was sent by then: the operator's stream has the same frames.
    await until(() => everything.of("mode").filter(({ tenant_id: tenant }) => tenant === "theirs").length > 0);
    await live[0]?.received("event", OWN_EVENTS);
    await live[3]?.received("mode", 1);
    expect(tenantsOf(everything).sort()).toEqual(["mine", "theirs"]);
    const again = await Promise.all(
      queries.map((query) => openStream(gateway.url, { key, query: `${query}&follow=false`, lastEventId: begin })),
    );
    await Promise.all(again.map((stream) => stream.ended()));
    for (const stream of [...live, ...again]) {
      expect(tenantsOf(stream)).toEqual(["mine"]);
      expect(stream.text()).not.toContain("theirs");
    }
    for (const stream of [...live, everything]) stream.close();
  });

  it("is not opened on a subscription of another, nor without the scope", async () => {
    const theirs = gateway.as(await gateway.createKey(["admin"], "theirs"));
    const { id } = await theirs.subscribe({ name: "x", url: sink.url });
    const key = await gateway.createKey(["read"], "mine");
    expect((await openStream(gateway.url, { key, query: `subscription_id=${id}` })).status).toBe(404);
    const publisher = await gateway.createKey(["publish"], "mine");
    expect((await openStream(gateway.url, { key: publisher })).status).toBe(403);
    expect((await openStream(gateway.url, { key: "wrong" })).status).toBe(401);
  });
});
