import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { until, type Answer } from "../support/api-client.ts";
import { openConnectProxy } from "../support/connect-proxy.ts";
import { report } from "../support/report.ts";
import { openSinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, startTestGateway } from "../support/test-gateway.ts";

type Canaries = Readonly<Record<string, string>>;

/** All that came out, as one text. */
function outputOf(log: string, answers: readonly Answer[]): string {
  return [log, ...answers.map(({ text, headers }) => text + JSON.stringify([...headers]))].join("\n");
}

function findIn(output: string | Buffer, canaries: Canaries): string[] {
  return Object.entries(canaries)
    .filter(([, canary]) => output.includes(canary))
    .map(([name]) => name);
}

/** By file of the data directory; those without any are left out. */
function findAtRest(folder: string, canaries: Canaries): [file: string, found: string[]][] {
  const files = readdirSync(folder).map((name) => [name, findIn(readFileSync(join(folder, name)), canaries)] as const);
  return files.flatMap(([name, found]) => (found.length > 0 ? [[name, found]] : []));
}

/** Secrets go in everywhere they can; then everything that came out is searched for them. */
describe("a secret", () => {
  it("is in no log line, no answer, no error and no metric", async () => {
    const sink = await openSinkServer({ answer: (_, index) => (index % 2 === 0 ? { status: 500 } : { status: 200 }) });
    const proxy = await openConnectProxy(() => sink.port);
    const gateway = await startTestGateway({
      env: {
        LOG_LEVEL: "trace",
        MASTER_KEY: "canary-master-key-canary-master-key-0123",
        EGRESS_PROXY: proxy.url.replace("//", "//user:canary-proxy-password@"),
      },
    });
    onTestFinished(() => Promise.all([gateway.close(), sink.close(), proxy.close()]).then(() => undefined));
    const secret = `whsec_${Buffer.from("canary-subscription-secret-32byt").toString("base64")}`;
    const canaries = {
      secret,
      "decoded secret": "canary-subscription-secret",
      "rotated secret": `whsec_${Buffer.from("canary-rotated-secret-of-32-byte").toString("base64")}`,
      "partner's own secret": "canary partner's own secret",
      "any private key": "whsk_",
      "admin key": ADMIN_KEY,
      "read key": await gateway.createKey(["read"]),
      "master key": "canary-master-key-canary",
      "sender's bearer": "canary-inbound-bearer",
      "sender's token": "canary-inbound-token",
      "sender's cookie": "canary-inbound-cookie",
      "outgoing credential": "canary-outgoing-credential",
      "destination password": "canary-destination-password",
      "proxy password": "canary-proxy-password",
      "response cookie": "canary-response-cookie",
      "source's secret": "canary-source-secret",
      "source's token": "canary-source-token",
      "source's path": "canary-source-path-token",
    };
    const answers: Answer[] = [];
    const keep = async (answer: Promise<Answer>) => void answers.push(await answer);

    const headers = {
      Authorization: `Bearer ${canaries["outgoing credential"]}`,
      "X-Api-Key": canaries["outgoing credential"],
    };
    const created = await gateway.subscribe({
      name: "target",
      url: sink.url,
      secret,
      ed25519: true,
      headers,
      retry_policy: { delays_s: [0.01] },
    });
    expect(created.secret).toBe(secret);
    const auth = { type: "basic", username: "u", password: canaries["destination password"] };
    await gateway.subscribe({ name: "with auth", url: sink.url, auth });
    const own = canaries["partner's own secret"];
    expect((await gateway.subscribe({ name: "own secret", url: sink.url, secret: own })).secret).toBe(own);
    for (const broken of [{ ...auth, username: "a:b" }, { ...auth, token: "x" }, { ...auth, type: "mtls" }, [auth]]) {
      await keep(gateway.post("/api/v1/subscriptions", { name: "bad", url: sink.url, events: ["*"], auth: broken }));
    }
    sink.answerWith((_, index) => ({
      status: index === 0 ? 500 : 200,
      headers: { "set-cookie": `a=${canaries["response cookie"]}` },
    }));
    const source = {
      name: "gated",
      secrets: [canaries["source's secret"]],
      auth: { header: "X-Odd", token: canaries["source's token"] },
      path_token: canaries["source's path"],
    };
    const shown = await gateway.post("/api/v1/sources", source);
    expect(shown.json["path_token"]).toBe(source.path_token);
    await keep(gateway.post("/api/v1/sources", { ...source, name: "bad", auth: { ...source.auth, header: "\n" } }));
    await keep(gateway.post("/api/v1/sources", { ...source, name: "bad", secrets: [`${source.secrets[0]}\0`] }));
    await keep(gateway.post("/api/v1/sources", { ...source, name: "bad", path_token: `${source.path_token}!` }));
    const gatedPath = `gated/${source.path_token}?s=${source.secrets[0]}`;
    await keep(gateway.webhook(gatedPath, "{}", { "x-odd": source.auth.token }));
    await keep(
      gateway.webhook(gatedPath, "{broken", { "x-odd": source.auth.token, "x-copy": String(source.secrets[0]) }),
    );
    await keep(gateway.webhook(gatedPath, "{}", { "x-odd": `${source.auth.token}?` }));
    await keep(gateway.post("/api/v1/sources/gated/rotate-secret", { secret: source.secrets[0] }));
    const inbound = {
      authorization: `Bearer ${canaries["sender's bearer"]}`,
      "x-hook-token": canaries["sender's token"],
      cookie: `session=${canaries["sender's cookie"]}`,
    };
    await keep(gateway.webhook("hooks", "{}", inbound));
    await keep(gateway.webhook("hooks", "{broken", inbound));
    await keep(gateway.webhook("hooks", "{}", { ...inbound, "content-encoding": "gzip" }));
    await keep(gateway.as(canaries["read key"]).post("/api/v1/subscriptions", { name: "no" }));
    await keep(
      gateway.post("/api/v1/subscriptions", { name: "bad", url: sink.url, events: ["*"], secret: `${secret}!` }),
    );
    await keep(
      gateway.post("/api/v1/subscriptions", {
        name: "bad",
        url: sink.url,
        events: ["*"],
        headers: { ...headers, "X-Bad": "\n" },
      }),
    );
    const bad = { Authorization: `Bearer ${canaries["outgoing credential"]}\n` };
    await keep(gateway.post("/api/v1/subscriptions", { name: "bad", url: sink.url, events: ["*"], headers: bad }));
    await keep(
      gateway.request("PATCH", `/api/v1/subscriptions/${created.id}`, {
        body: JSON.stringify({ secret }),
        headers: { "content-type": "application/json" },
      }),
    );
    const rotate = `/api/v1/subscriptions/${created.id}/rotate-secret`;
    await keep(gateway.post(rotate, { secret }));
    await keep(gateway.post(rotate, { secret: `${secret}!` }));
    await keep(gateway.post(rotate, { secret: `${own}\t` }));
    await keep(gateway.post(rotate, { overlap_s: secret }));
    const next = canaries["rotated secret"];
    expect((await gateway.post(rotate, { secret: next })).json["secret"]).toBe(next);
    await keep(gateway.post(rotate, { secret: next, force: true }));
    await keep(gateway.post(`${rotate}/confirm`));
    await keep(gateway.post(`${rotate}/confirm`));
    await keep(gateway.post("/api/v1/jobs/rotate-secrets/run"));
    expect((await gateway.get(`/api/v1/subscriptions/${created.id}/secret`)).text).toContain(next);
    await gateway.publish({ event_type: "order.created", payload: {} });
    await keep(gateway.post(`${rotate}/retire`));
    const json = { "content-type": "application/json" };
    const readBack = JSON.stringify({
      headers: { Authorization: "***", "X-Api-Key": canaries["outgoing credential"] },
    });
    await keep(gateway.request("PATCH", `/api/v1/subscriptions/${created.id}`, { body: readBack, headers: json }));
    const keyInput = { name: "canary", scopes: ["read"] };
    const once = { body: JSON.stringify(keyInput), headers: { ...json, "idempotency-key": "canary" } };
    const { json: made } = await gateway.request("POST", "/api/v1/keys", once);
    Object.assign(canaries, { "new key": String(made["key"]) });
    await keep(gateway.request("POST", "/api/v1/keys", once));
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const body = method === "DELETE" ? {} : { body: JSON.stringify(keyInput), headers: json };
      await keep(gateway.request(method, `/api/v1/keys/${String(made["id"])}`, body));
    }
    await gateway.settled();
    await until(async () => (await gateway.rejected("hooks")).length === 2);

    const [delivery] = await gateway.deliveries();
    const [request] = await gateway.rejected("hooks");
    for (const path of [
      "/status",
      "/metrics",
      "/readyz",
      "/api/v1/events",
      `/api/v1/events/${delivery?.event_id}`,
      "/api/v1/deliveries",
      `/api/v1/deliveries/${delivery?.id}`,
      "/api/v1/dead-letters",
      "/api/v1/subscriptions",
      `/api/v1/subscriptions/${created.id}`,
      `/api/v1/subscriptions/${created.id}/stats`,
      "/api/v1/stats",
      "/api/v1/keys",
      `/api/v1/keys/${String(made["id"])}`,
      "/api/v1/jobs",
      "/api/v1/sources",
      "/api/v1/sources/gated",
      "/api/v1/sources/gated/requests",
      "/api/v1/events?source=gated",
      "/api/v1/sources/hooks/requests",
      `/api/v1/requests/${request?.id}`,
      `/api/v1/requests/${String(delivery?.event_id).replace("evt_", "req_")}`,
    ]) {
      await keep(gateway.get(path));
    }
    await gateway.stop();
    // They did travel: what follows is no empty promise.
    const sent = sink.requests.map(({ headers: { authorization } }) => String(authorization)).join();
    expect(sent).toContain("canary-outgoing");
    expect(sent).toContain(Buffer.from("u:canary-destination-password").toString("base64"));
    expect(proxy.asked[0]?.authorization).toContain(Buffer.from("user:canary-proxy-password").toString("base64"));
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(10);

    const reads = gateway.log.filter(({ msg }) => msg === "the secret of a subscription was read");
    expect(reads).toMatchObject([{ subscription_id: created.id, key_id: "config" }]);
    const leaks = findIn(outputOf(gateway.logText(), answers), canaries);
    report(
      `R22 secret canaries found in logs, answers, errors and metrics: ${leaks.length} of ${Object.keys(canaries).length}`,
    );
    expect(leaks).toEqual([]);

    const atRest = [
      "outgoing credential",
      "destination password",
      "proxy password",
      "secret",
      "decoded secret",
      "rotated secret",
      "partner's own secret",
      "any private key",
      "admin key",
      "read key",
      "sender's bearer",
      "sender's token",
      "sender's cookie",
      "source's secret",
      "source's token",
      "source's path",
    ] as const;
    const stored = Object.fromEntries(atRest.map((name) => [name, canaries[name]]));
    expect(findAtRest(gateway.dataDir, stored)).toEqual([]);
  });

  it("is searched for so that it would be found in a log line, an answer, a header and a file (control)", async () => {
    const gateway = await startTestGateway({ env: { LOG_LEVEL: "trace" } });
    onTestFinished(() => gateway.close());
    const planted = { "planted name": "canary-planted-name" };
    const name = planted["planted name"];
    const created = await gateway.post("/api/v1/sources", { name });
    await gateway.webhook(name, "{broken");
    expect(findIn(outputOf("", [created]), planted)).toEqual(["planted name"]);
    expect(
      findIn(outputOf("", [{ ...created, text: "", headers: new Headers({ location: `/${name}` }) }]), planted),
    ).toEqual(["planted name"]);
    expect(findIn(outputOf(gateway.logText(), []), planted)).toEqual(["planted name"]);
    await gateway.stop();
    expect(findAtRest(gateway.dataDir, planted)).not.toEqual([]);
    expect(findIn(outputOf(gateway.logText(), [created]), { other: "canary-that-nobody-planted" })).toEqual([]);
  });
});
