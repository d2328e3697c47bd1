import { DatabaseSync } from "@photostructure/sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway } from "../support/test-gateway.ts";

const CANARY = "canary-51c2-of-a-customer";

describe("the body of an event, once it is erased", () => {
  it("is in no answer, no export and, after VACUUM, not in the database", async () => {
    const sink = await openSinkServer({ answer: (request) => ({ status: 200, body: request.body }) });
    const gateway = await startTestGateway();
    onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
    const { id } = await gateway.subscribe({ name: "echo", url: sink.url });
    const large = CANARY.padEnd(40_000, "-");
    await gateway.publish({ event_type: "a.b", event_id: "small", payload: { text: CANARY } });
    await gateway.publish({ event_type: "a.b", event_id: "large", payload: { text: large } });
    await gateway.publish({ event_type: "a.b", event_id: "other", payload: { text: "stays" } });
    await gateway.settled();
    // The control: it is everywhere before.
    expect((await gateway.get("/api/v1/events/export")).text).toContain(CANARY);
    expect(JSON.stringify(await gateway.deliveryOf("small"))).toContain(CANARY);

    for (const event of ["small", "large"]) {
      expect((await gateway.request("DELETE", `/api/v1/events/${event}/body`)).status).toBe(200);
      expect((await gateway.request("DELETE", `/api/v1/events/${event}/body`)).status).toBe(200);
    }
    const small = (await gateway.get("/api/v1/events/small")).json;
    expect(small).toMatchObject({ payload: null, size: 0, status: "COMPLETED" });
    expect(small["body_erased_at"]).not.toBeNull();
    const delivery = await gateway.deliveryOf("small");
    const paths = ["/api/v1/events/export", `/api/v1/events?text=${CANARY}`, `/api/v1/deliveries/${delivery.id}`];
    for (const path of [...paths, "/api/v1/audit?limit=500"])
      expect((await gateway.get(path)).text).not.toContain(`${CANARY}"`);
    expect((await gateway.get("/api/v1/events/other")).json).toMatchObject({ payload: { text: "stays" } });
    expect((await gateway.post("/api/v1/events/small/replay", { subscription_id: id })).status).toBe(409);
    const entries = (await gateway.get("/api/v1/audit?act=event.erase_body")).json["data"] as { id: string }[];
    expect(entries.map((entry) => entry.id)).toEqual(["large", "small"]);

    await gateway.stop();
    const file = join(gateway.dataDir, "posthorn.db");
    const db = new DatabaseSync(file);
    db.exec("vacuum");
    db.close();
    expect(readFileSync(file).includes(CANARY)).toBe(false);
  });

  it("is in no URL and no header that a template made of it, and others that were sent the same keep theirs", async () => {
    const sink = await openSinkServer();
    const gateway = await startTestGateway();
    onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
    const events = ["a.b"];
    const url = `${sink.url}/{{ data.who }}`;
    await gateway.subscribe({ name: "by URL", url: sink.url, events, template: { url } });
    await gateway.subscribe({
      name: "by header",
      url: sink.url,
      events,
      template: { headers: { "X-Who": "{{ data.who }}" } },
    });
    for (const [event_id, who] of [
      ["one", CANARY],
      ["two", "shared"],
      ["three", "shared"],
    ]) {
      await gateway.publish({ event_type: "a.b", event_id, payload: { who } });
    }
    await gateway.settled();
    const shown = async (event: string) => {
      const { deliveries } = (await gateway.get(`/api/v1/events/${event}`)).json as { deliveries: { id: string }[] };
      const all = await Promise.all(deliveries.map(({ id }) => gateway.get(`/api/v1/deliveries/${id}`)));
      return all.map(({ text }) => text).join("\n");
    };
    // The control: they are shown before.
    expect((await shown("one")).split(CANARY)).toHaveLength(3);
    for (const event of ["one", "two"]) await gateway.request("DELETE", `/api/v1/events/${event}/body`);
    expect(await shown("one")).not.toContain(CANARY);
    expect(await shown("two")).not.toContain("shared");
    expect((await shown("three")).split("shared")).toHaveLength(3);
    // Later attempts find no form that was removed.
    await gateway.publish({ event_type: "a.b", event_id: "four", payload: { who: CANARY } });
    await gateway.settled();
    expect((await shown("four")).split(CANARY)).toHaveLength(3);
    await gateway.request("DELETE", "/api/v1/events/four/body");
    await gateway.stop();
    const file = join(gateway.dataDir, "posthorn.db");
    const db = new DatabaseSync(file);
    db.exec("vacuum");
    db.close();
    expect(readFileSync(file).includes(CANARY)).toBe(false);
  });

  it("is in no error of an attempt, neither of one that had ended nor of one that ends later", async () => {
    let openGate = (): void => undefined;
    const gate = new Promise<void>((resolve) => (openGate = resolve));
    const problem = { status: 400, body: JSON.stringify({ code: 21_211, message: `${CANARY} is not a number` }) };
    const sink = await openSinkServer({ answer: { ...problem, after: gate } });
    const gateway = await startTestGateway();
    onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
    const destination = {
      gateway: "twilio",
      url: sink.url,
      account_sid: "AC0123",
      auth_token: "token",
      from: "+15005550006",
      to: "{{ data.to }}",
      text: "Hi",
    };
    const sms = { name: "sms", kind: "sms", events: ["a.b"], destination };
    expect((await gateway.post("/api/v1/subscriptions", sms)).status).toBe(201);
    const publish = (event_id: string, to: string) => gateway.publish({ event_type: "a.b", event_id, payload: { to } });
    await publish("ended", CANARY);
    await until(async () => (await gateway.deliveryOf("ended")).status === "dead");
    // The control: it is shown before.
    expect((await gateway.deliveryOf("ended"))["last_error"]).toContain(CANARY);
    expect((await gateway.deliveryOf("ended")).attempts[0]?.["error"]).toContain(CANARY);
    await publish("later", "+491511234567");
    await sink.received(1);
    for (const event of ["ended", "later"]) {
      expect((await gateway.request("DELETE", `/api/v1/events/${event}/body?force=true`)).status).toBe(200);
    }
    openGate();
    await until(async () => (await gateway.deliveryOf("later")).attempts.length === 1);
    for (const event of ["ended", "later"]) {
      const delivery = await gateway.deliveryOf(event);
      expect(delivery).toMatchObject({ status: "dead", last_error: null, attempts: [{ number: 1, error: null }] });
    }
    expect((await gateway.get("/api/v1/dead-letters")).text).not.toContain(CANARY);
    await gateway.stop();
    const db = new DatabaseSync(join(gateway.dataDir, "posthorn.db"));
    db.exec("vacuum");
    db.close();
    expect(readFileSync(join(gateway.dataDir, "posthorn.db")).includes(CANARY)).toBe(false);
  });

  it("is rejected while deliveries are open; forced, they are dead", async () => {
    const gateway = await startTestGateway();
    onTestFinished(() => gateway.close());
    const { id } = await gateway.subscribe({ name: "paused", url: "http://127.0.0.1:9/hook" });
    await gateway.post(`/api/v1/subscriptions/${id}/pause`);
    await gateway.publish({ event_type: "a.b", event_id: "held", payload: { text: CANARY } });
    const refused = await gateway.request("DELETE", "/api/v1/events/held/body");
    expect(refused.status).toBe(409);
    expect(refused.json["detail"]).toContain("1 delivery of this event is still open");
    expect((await gateway.get("/api/v1/events/held")).text).toContain(CANARY);
    expect((await gateway.request("DELETE", "/api/v1/events/held/body?force=true")).json).toMatchObject({
      ended_deliveries: 1,
    });
    expect(await gateway.deliveryOf("held")).toMatchObject({ status: "dead", dead_reason: "erased" });
    expect(await gateway.deadLetters()).toHaveLength(1);
    expect((await gateway.request("DELETE", "/api/v1/events/none/body")).status).toBe(404);
  });
});
