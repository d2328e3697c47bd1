import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/api-client.ts";
import { acceptsEd25519, findSeedSecret, officialsAccept, type Received } from "../support/official-verifiers.ts";
import { checkOwnEnvelope } from "../support/own-event-document.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const OWN_SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

async function openBoth(options: TestGatewayOptions = {}) {
  const sink = await openSinkServer();
  const gateway = await startTestGateway(options);
  onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
  return { sink, gateway };
}

/** Publishes an event and waits for what arrives of it. */
async function deliver({ sink, gateway }: Awaited<ReturnType<typeof openBoth>>): Promise<Received> {
  const count = sink.requests.length;
  await gateway.publish({ event_type: "order.created", payload: { total: 1 } });
  const request = (await sink.received(count + 1))[count];
  return { headers: request?.headers ?? {}, body: request?.body ?? Buffer.alloc(0) };
}

const pathOf = (id: string, rest: string) => `/api/v1/subscriptions/${id}/${rest}`;
const overlapEnd = (gateway: TestGateway, id: string) =>
  gateway.get(pathOf(id, "secret")).then(({ json }) => json["overlap_ends_at"]);

describe("a rotation", () => {
  it("leaves no delivery that the official libraries would reject, before, during and after", async () => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const { id, secret: old } = await gateway.subscribe({ name: "orders", url: sink.url });
    const before = await deliver(both);
    expect(officialsAccept(old, before)).toBe(true);
    expect(officialsAccept(OWN_SECRET, before)).toBe(false);
    expect(before.headers).not.toHaveProperty("x-webhook-signature-next");

    const rotated = await gateway.post(pathOf(id, "rotate-secret"));
    expect(rotated.status).toBe(200);
    expect(rotated.headers.get("cache-control")).toBe("no-store");
    const next = String(rotated.json["secret"]);
    expect(next).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(next).not.toBe(old);
    const days = (Date.parse(String(rotated.json["overlap_ends_at"])) - gateway.now()) / 86_400_000;
    expect(days).toBeCloseTo(14, 1);
    expect(rotated.json["secrets"]).toMatchObject([{ state: "current" }, { state: "next", expires_at: null }]);

    const during = await deliver(both);
    expect([officialsAccept(old, during), officialsAccept(next, during)]).toEqual([true, true]);
    expect(findSeedSecret({ old, next }, during)).toBe("old");
    expect(findSeedSecret({ old, next }, during, "x-webhook-signature-next")).toBe("next");

    expect((await gateway.post(pathOf(id, "rotate-secret/confirm"))).json["secrets"]).toMatchObject([
      { state: "current", expires_at: null },
      { state: "previous", expires_at: rotated.json["overlap_ends_at"] },
    ]);
    const confirmed = await deliver(both);
    expect([officialsAccept(old, confirmed), officialsAccept(next, confirmed)]).toEqual([true, true]);
    expect(findSeedSecret({ old, next }, confirmed)).toBe("next");
    expect(confirmed.headers).not.toHaveProperty("x-webhook-signature-next");

    const retired = await gateway.post(pathOf(id, "rotate-secret/retire"));
    expect(retired.json).toMatchObject({ overlap_ends_at: null, secrets: [{ state: "current" }] });
    const after = await deliver(both);
    expect([officialsAccept(old, after), officialsAccept(next, after)]).toEqual([false, true]);
    expect(findSeedSecret({ old, next }, after)).toBe("next");
  });

  it("takes a secret of the owner's, and survives a restart on the way", async () => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const { id, secret: old } = await gateway.subscribe({ name: "orders", url: sink.url });
    const rotated = await gateway.post(pathOf(id, "rotate-secret"), { secret: OWN_SECRET, overlap_s: 3600 });
    expect(rotated.json["secret"]).toBe(OWN_SECRET);
    await gateway.restart();
    const during = await deliver(both);
    expect([officialsAccept(old, during), officialsAccept(OWN_SECRET, during)]).toEqual([true, true]);
    expect(findSeedSecret({ old, own: OWN_SECRET }, during)).toBe("old");
    expect(await overlapEnd(gateway, id)).toBe(rotated.json["overlap_ends_at"]);
  });

  it.each(["PATCH", "PUT"])("is what a %s with another secret begins, and the tenant is told", async (method) => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const settings = { name: "orders", url: sink.url, events: ["order.*"] };
    const { id, secret: old } = await gateway.subscribe(settings);
    const listener = await openSinkServer();
    onTestFinished(() => listener.close());
    await gateway.subscribe({ name: "told", url: listener.url, events: ["webhook.secret_rotating"] });
    const save = (secret: string) =>
      gateway.request(method, `/api/v1/subscriptions/${id}`, {
        body: JSON.stringify(method === "PUT" ? { ...settings, secret } : { secret }),
        headers: { "content-type": "application/json" },
      });
    const saved = await save(OWN_SECRET);
    expect([saved.status, saved.json["warnings"]]).toEqual([200, [expect.stringContaining("rotate-secret/confirm")]]);
    const during = await deliver(both);
    expect([officialsAccept(old, during), officialsAccept(OWN_SECRET, during)]).toEqual([true, true]);
    expect(findSeedSecret({ old, next: OWN_SECRET }, during)).toBe("old");
    const [told] = await listener.received(1);
    expect(told?.body.toString()).toContain('"webhook.secret_rotating"');
    const endsAt = Date.parse(String(await overlapEnd(gateway, id)));
    expect((endsAt - gateway.now()) / 86_400_000).toBeCloseTo(14, 1);
    // Sent again it changes nothing, and a third one has to wait.
    expect((await save(OWN_SECRET)).status).toBe(200);
    expect((await save(old)).status).toBe(200);
    expect((await save("another secret of 24 bytes")).json).toMatchObject({ status: 409, code: "conflict" });
    expect(Date.parse(String(await overlapEnd(gateway, id)))).toBe(endsAt);
    gateway.moveClock(14 * 86_400_000);
    await until(async () => (await overlapEnd(gateway, id)) === null);
    expect(officialsAccept(old, await deliver(both))).toBe(false);
  });

  it("ends by itself, on time", async () => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const { id, secret: old } = await gateway.subscribe({ name: "orders", url: sink.url });
    const { json } = await gateway.post(pathOf(id, "rotate-secret"), { overlap_s: 100 });
    gateway.moveClock(60_000);
    expect(await overlapEnd(gateway, id)).toBe(json["overlap_ends_at"]);
    gateway.moveClock(40_000);
    await until(async () => (await overlapEnd(gateway, id)) === null);
    const next = String(json["secret"]);
    const after = await deliver(both);
    expect(findSeedSecret({ old, next }, after)).toBe("next");
    expect([officialsAccept(old, after), officialsAccept(next, after)]).toEqual([false, true]);
  });

  it("that ended while the gateway was down has ended before the first delivery", async () => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const { id, secret: old } = await gateway.subscribe({ name: "orders", url: sink.url });
    const { json } = await gateway.post(pathOf(id, "rotate-secret"), { overlap_s: 3600 });
    await gateway.stop();
    gateway.moveClock(3_601_000);
    await gateway.restart();
    expect(findSeedSecret({ old, next: String(json["secret"]) }, await deliver(both))).toBe("next");
  });

  it("without an overlap retires the old secret at once, and so does a confirmation that asks for it", async () => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const { id, secret: first } = await gateway.subscribe({ name: "orders", url: sink.url });
    const second = String((await gateway.post(pathOf(id, "rotate-secret"), { overlap_s: 0 })).json["secret"]);
    const atOnce = await deliver(both);
    expect([first, second].map((secret) => officialsAccept(secret, atOnce))).toEqual([false, true]);
    const third = String((await gateway.post(pathOf(id, "rotate-secret"))).json["secret"]);
    await gateway.post(pathOf(id, "rotate-secret/confirm"), { retire: true });
    const confirmed = await deliver(both);
    expect([second, third].map((secret) => officialsAccept(secret, confirmed))).toEqual([false, true]);
  });

  it("is one at a time, unless it is forced", async () => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const { id, secret: old } = await gateway.subscribe({ name: "orders", url: sink.url });
    const all = await Promise.all([1, 2, 3].map(() => gateway.post(pathOf(id, "rotate-secret"))));
    expect(all.map(({ status }) => String(status)).sort()).toEqual(["200", "409", "409"]);
    const givenUp = String(all.find(({ status }) => status === 200)?.json["secret"]);
    const forced = await gateway.post(pathOf(id, "rotate-secret"), { force: true });
    const request = await deliver(both);
    const accepted = [old, givenUp, String(forced.json["secret"])].map((secret) => officialsAccept(secret, request));
    expect(accepted).toEqual([true, false, true]);
  });

  it("and a change of other settings at the same time both stay", async () => {
    const { gateway, sink } = await openBoth();
    const { id } = await gateway.subscribe({ name: "orders", url: sink.url });
    const change = (timeout: number) =>
      gateway.request("PATCH", `/api/v1/subscriptions/${id}`, {
        body: JSON.stringify({ timeout }),
        headers: { "content-type": "application/json" },
      });
    const acts = [
      () => change(11),
      () => gateway.post(pathOf(id, "rotate-secret")),
      () => change(12),
      () => gateway.post(pathOf(id, "pause")),
    ];
    const answers = await Promise.all(acts.map((act) => act()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const restarts of [0, 1]) {
      if (restarts === 1) await gateway.restart();
      const secret = answers[1]?.json["secret"];
      const shown = (await gateway.get(pathOf(id, "secret"))).json["secrets"];
      expect(shown).toMatchObject([{ state: "current" }, { state: "next", secret }]);
      expect((await gateway.get(`/api/v1/subscriptions/${id}`)).json["timeout"]).not.toBe(30);
    }
  });

  it("is possible where the configuration file owns the rest, and a reload does not undo it", async () => {
    const sink = await openSinkServer();
    const yaml = (secret: string) => `
subscriptions:
  - name: declared
    url: ${sink.url}
    events: ["*"]
    secret: ${secret}
`;
    const gateway = await startTestGateway({ yaml: yaml(OWN_SECRET) });
    onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
    const [{ id } = { id: "" }] = (await gateway.get("/api/v1/subscriptions")).json["data"] as { id: string }[];
    const { json, status } = await gateway.post(pathOf(id, "rotate-secret"), { overlap_s: 0 });
    expect(status).toBe(200);
    const shown = async () => (await gateway.get(pathOf(id, "secret"))).json["secret"];
    await gateway.restart();
    expect(await shown()).toBe(json["secret"]);
    const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
    await gateway.reload(yaml(other));
    expect(await shown()).toBe(other);
  });

  it("rejects what it cannot do, and changes nothing", async () => {
    const { gateway, sink } = await openBoth();
    const { id, secret } = await gateway.subscribe({ name: "orders", url: sink.url });
    const bad: [body: object, field: string][] = [
      [{ secret: "whsec_short" }, "secret"],
      [{ secret: `whsec_${Buffer.alloc(23).toString("base64")}AA` }, "secret"],
      [{ secret: `${secret}\0` }, "secret"],
      [{ overlap_s: -1 }, "overlap_s"],
      [{ overlap_s: 40_000_000 }, "overlap_s"],
      [{ force: "yes" }, "force"],
      [{ overlap: 1 }, "overlap"],
    ];
    for (const [body, field] of bad) {
      const answer = await gateway.post(pathOf(id, "rotate-secret"), body);
      expect([answer.status, answer.json["field"]]).toEqual([422, field]);
      expect(answer.text).not.toContain("whsec_short");
      expect(answer.text).not.toContain(secret);
    }
    expect((await gateway.get(pathOf(id, "secret"))).json["secrets"]).toMatchObject([{ secret, state: "current" }]);
  });

  it("is rejected where there is nothing to rotate, to confirm or to retire", async () => {
    const { gateway, sink } = await openBoth();
    const { id, secret } = await gateway.subscribe({ name: "orders", url: sink.url });
    const again = await gateway.post(pathOf(id, "rotate-secret"), { secret });
    expect([again.status, again.json["field"], again.text.includes(secret)]).toEqual([422, "secret", false]);
    expect((await gateway.post(pathOf(id, "rotate-secret/confirm"))).status).toBe(409);
    expect((await gateway.post(pathOf(id, "rotate-secret/retire"))).status).toBe(409);
    expect((await gateway.post(pathOf("sub_unknown", "rotate-secret"))).status).toBe(404);

    const acme = gateway.as(await gateway.createKey(["admin"], "acme"));
    const paths = ["rotate-secret", "rotate-secret/confirm", "rotate-secret/retire"].map((rest) => pathOf(id, rest));
    for (const path of paths) expect((await acme.post(path)).status).toBe(404);
    expect((await acme.get(pathOf(id, "secret"))).status).toBe(404);
    await gateway.request("DELETE", `/api/v1/subscriptions/${id}`);
    for (const path of paths) {
      const deleted = await gateway.post(path);
      expect([deleted.status, deleted.json["field"]]).toEqual([422, "id"]);
      expect((await acme.post(path)).status).toBe(404);
    }
    await gateway.restart();
    expect((await gateway.post(pathOf(id, "rotate-secret"))).status).toBe(422);
    expect((await gateway.get(pathOf(id, "secret"))).status).toBe(404);
  });
});

describe("webhook.secret_rotating", () => {
  it("reaches subscriptions that ask for it by name in the same tenant, and names no secret", async () => {
    const { gateway, sink } = await openBoth();
    const everything = await openSinkServer();
    onTestFinished(() => everything.close());
    await gateway.subscribe({ name: "ops", url: sink.url, events: ["webhook.secret_rotating"] });
    await gateway.subscribe({ name: "all", url: everything.url, events: ["*", "#", "*.*"] });
    await gateway.subscribe({ name: "other", url: everything.url, events: ["webhook.*"], tenant_id: "other" });
    const { id, secret } = await gateway.subscribe({ name: "orders", url: sink.url, events: ["order.*"] });
    const { json } = await gateway.post(pathOf(id, "rotate-secret"));
    const [request] = await sink.received(1);
    const told = JSON.parse(request?.body.toString() ?? "") as Record<string, unknown>;
    expect(told).toMatchObject({
      event: "webhook.secret_rotating",
      data: { webhook_id: id, overlap_ends_at: json["overlap_ends_at"], trigger: "manual" },
    });
    expect(checkOwnEnvelope(told)).toBeUndefined();
    for (const each of [secret, String(json["secret"])]) expect(request?.body.toString()).not.toContain(each);
    await gateway.settled();
    expect(everything.requests).toEqual([]);
    expect(gateway.log.filter(({ msg }) => msg.startsWith("nobody subscribes"))).toEqual([]);
  });
});

describe("a key pair", () => {
  it("signs beside the secrets while it is set; its public half is shown, its private half never", async () => {
    const both = await openBoth();
    const { gateway, sink } = both;
    const { id, secret, ed25519_public_key } = await gateway.subscribe({ name: "o", url: sink.url, ed25519: true });
    const publicKey = String(ed25519_public_key);
    expect(publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    const change = (ed25519: boolean) =>
      gateway.request("PATCH", `/api/v1/subscriptions/${id}`, {
        body: JSON.stringify({ ed25519 }),
        headers: { "content-type": "application/json" },
      });
    const signed = await deliver(both);
    expect([officialsAccept(secret, signed), acceptsEd25519(publicKey, signed)]).toEqual([true, true]);
    expect(acceptsEd25519(publicKey, { ...signed, body: Buffer.from("{}") })).toBe(false);

    await gateway.restart();
    expect(acceptsEd25519(publicKey, await deliver(both))).toBe(true);
    const shown = await gateway.get(pathOf(id, "secret"));
    expect(shown.json["ed25519"]).toMatchObject({ public_key: publicKey });
    expect(shown.text).not.toContain("whsk_");

    expect((await change(false)).json).toMatchObject({ ed25519: false, ed25519_public_key: null });
    const plain = await deliver(both);
    expect([officialsAccept(secret, plain), acceptsEd25519(publicKey, plain)]).toEqual([true, false]);
    const renewed = String((await change(true)).json["ed25519_public_key"]);
    expect(renewed).not.toBe(publicKey);
    expect(acceptsEd25519(renewed, await deliver(both))).toBe(true);
  });
});
