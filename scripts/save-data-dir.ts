/**
 * `node --import tsx scripts/save-data-dir.ts NAME`, at a release: fills a gateway of this version with data of
 * every kind and saves its data directory and its API's answers in test/saved/NAME. From then on
 * `test/integration/saved-data-dirs.test.ts` opens it with the current gateway.
 */
import { createHmac } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { createApiClient, until, type Answer, type ApiClient } from "../test/support/api-client.ts";
import { ADMIN_KEY, databaseOf, dataDirOf, startGatewayProcess } from "../test/support/gateway-process.ts";
import { readAnswers } from "../test/support/saved-data-dir.ts";

const YAML = `
tenants:
  - id: declared-tenant
    name: Declared
    quotas: { subscriptions: 5 }
event_types:
  - name: declared.type
    versions: [{ version: "1.0", schema: { type: object } }]
targets:
  - name: declared-target
    failures_to_open: 4
sources:
  - name: declared-source
    kind: github
    secrets: [a-secret-of-twenty-characters]
subscriptions:
  - name: declared
    url: http://127.0.0.1:9/declared
    events: [declared.once]
    status: inactive
`;

const SECRET = "a-secret-of-twenty-one-chars";

const [name] = process.argv.slice(2);
if (name === undefined || !/^[0-9a-z.-]+$/.test(name)) throw new Error("give a name, such as a version");
const folder = mkdtempSync(join(tmpdir(), "posthorn-saved-"));
try {
  await save(join(fileURLToPath(new URL("../test/saved/", import.meta.url)), name));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function save(to: string): Promise<void> {
  writeFileSync(join(folder, "posthorn.yaml"), YAML);
  const sink = await openSink();
  await withGateway((client) => fill(strict(client), `http://127.0.0.1:${sink.port}`));
  // In the state that a start finds: without facts that only the process knew.
  const answers = await withGateway(readAnswers);
  await sink.close();
  mkdirSync(to, { recursive: true });
  writeFileSync(join(to, "posthorn.yaml"), YAML.trimStart());
  writeFileSync(join(to, "posthorn.db.gz"), gzipSync(readFileSync(databaseOf(folder)), { level: 9 }));
  writeFileSync(join(to, "master.key"), readFileSync(join(dataDirOf(folder), "master.key")));
  writeFileSync(join(to, "answers.json"), `${JSON.stringify({ savedAt: Date.now(), answers }, undefined, 1)}\n`);
  process.stdout.write(`saved in ${to}\n`);
}

async function withGateway<Result>(use: (client: ApiClient) => Promise<Result>): Promise<Result> {
  const gateway = startGatewayProcess({ folder });
  const url = await gateway.ready;
  const result = await use(createApiClient({ url: () => url }, ADMIN_KEY));
  await gateway.kill("SIGTERM");
  return result;
}

/** Missing data must be an error. */
function strict(client: ApiClient): ApiClient {
  const must = (answer: Answer, what: string): Answer => {
    if (answer.status < 400) return answer;
    throw new Error(`${what} answered ${answer.status}: ${answer.text}`);
  };
  return {
    ...client,
    post: async (path, body) => must(await client.post(path, body), path),
    publish: async (event) => must(await client.publish(event), "publish"),
    request: async (method, path, options) => must(await client.request(method, path, options), path),
  };
}

/** Depending on the path: accepts, rejects permanently, or fails for now. */
async function openSink() {
  const server = createServer((request, response) => {
    request.resume().once("end", () => {
      const status = request.url === "/rejects" ? 400 : request.url === "/fails" ? 500 : 200;
      response.writeHead(status, { "x-answer": String(status) }).end(`answered ${status}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
}

async function fill(client: ApiClient, sinkUrl: string): Promise<void> {
  await configure(client);
  const made = {
    taken: await client.subscribe({ name: "takes", url: `${sinkUrl}/takes`, events: ["order.taken"] }),
    rejected: await client.subscribe({ name: "rejects", url: `${sinkUrl}/rejects`, events: ["order.rejected"] }),
    failing: await client.subscribe({
      name: "fails",
      url: `${sinkUrl}/fails`,
      events: ["order.failing"],
      retry_policy: { delays_s: [0, 0] },
      headers: { "X-Partner-Token": "hidden" },
    }),
    ordered: await client.subscribe({
      name: "ordered",
      url: `${sinkUrl}/rejects`,
      events: ["order.ordered"],
      ordered: true,
      on_dead_head: "block",
    }),
    paused: await client.subscribe({ name: "paused", url: `${sinkUrl}/takes`, events: ["order.#"] }),
    deleted: await client.subscribe({ name: "deleted", url: `${sinkUrl}/takes`, events: ["order.taken"] }),
  };
  await client.post(`/api/v1/subscriptions/${made.paused.id}/pause`);

  await client.publish({ event_type: "order.taken", payload: { n: 1 }, event_id: "taken-1", metadata: { a: "b" } });
  await client.publish({ event_type: "order.taken", payload: { big: "x".repeat(40_000) }, event_id: "taken-large" });
  await client.publish({ event_type: "order.rejected", payload: { n: 2 }, event_id: "rejected-1" });
  await client.publish({ event_type: "order.failing", payload: { n: 3 }, event_id: "failing-1" });
  for (const n of [1, 2, 3]) {
    await client.publish({
      event_type: "order.ordered",
      payload: { n },
      event_id: `ordered-${n}`,
      ordering_key: "customer-1",
    });
  }
  await client.publish({ event_type: "nobody.wants", payload: { n: 4 }, event_id: "unmatched-1", priority: "high" });
  await client.publish({ event_type: "order.taken", payload: {}, event_id: "cancelled-1", tenant_id: "acme" });
  await client.webhook("anything/sub/path?q=1", '{"hello":"wörld","n":12345678901234567890}', { "x-custom": "kept" });
  await client.webhook("anything", "<a>xml</a>", { "content-type": "application/xml", "webhook-id": "given-1" });
  await client.webhook("anything", "<a>xml</a>", { "content-type": "application/xml", "webhook-id": "given-1" });
  await sendSigned(client, "whole");
  await client.webhook("signed", '{"forged":true}', { "x-hub-signature-256": "sha256=00" });

  const isDead = async (id: string) => (await client.deadLetters()).some((one) => one.event_id === id);
  await until(async () => (await isDead("rejected-1")) && (await isDead("failing-1")) && (await isDead("ordered-1")));
  await until(async () => (await client.event("taken-large")).deliveries.some(({ status }) => status === "delivered"));
  // Delivered twice: replayed, in its second generation.
  await client.post("/api/v1/events/taken-1/replay", { subscription_id: made.taken.id });
  await until(async () => {
    const { deliveries } = await client.event("taken-1");
    return deliveries.some((one) => one.subscription_id === made.taken.id && one.attempt_count === 2);
  });
  const held = await client.deliveries(`subscription_id=${made.paused.id}`);
  await client.post(`/api/v1/deliveries/${held.at(-1)?.id}/cancel`);
  await client.request("DELETE", `/api/v1/subscriptions/${made.deleted.id}`);
  await client.post(`/api/v1/subscriptions/${made.taken.id}/rotate-secret`, {});
  await client.post("/api/v1/replays", { kind: "dead_letters", filter: { subscription_id: made.paused.id } });
}

async function configure(client: ApiClient): Promise<void> {
  const json = { "content-type": "application/json" };
  const put = (path: string, body: unknown) =>
    client.request("PUT", path, { body: JSON.stringify(body), headers: json });
  await client.post("/api/v1/tenants", { id: "acme", name: "Acme", quotas: { events_per_minute: 1000 } });
  await client.post("/api/v1/keys", { name: "bound", scopes: ["read", "publish"], tenant_id: "acme" });
  const { json: gone } = await client.post("/api/v1/keys", { name: "revoked", scopes: ["read"] });
  await client.request("DELETE", `/api/v1/keys/${String(gone["id"])}`);
  await client.post("/api/v1/event-types", {
    name: "order.taken",
    description: "An order was taken",
    versions: [
      { version: "1.0", schema: { type: "object" }, example: {} },
      { version: "2.0", schema: { type: "object", properties: { n: { type: "integer" } } } },
    ],
  });
  await client.post("/api/v1/targets", { name: "shared", url: "http://127.0.0.1:9/", failures_to_open: 5 });
  await client.post("/api/v1/targets", { name: "forced" });
  await client.post("/api/v1/targets/forced/mode", { mode: "QUEUE" });
  await client.post("/api/v1/sources", { name: "signed", kind: "github", secrets: [SECRET], path_token: false });
  await client.post("/api/v1/sources", { name: "closed", auth: { header: "X-Token", token: "0123456789abcdef" } });
  await client.post("/api/v1/sources/closed/close");
  await put("/validations/orders", { type: "object", required: ["id"] });
  await put("/validations/orders", { type: "object", required: ["id", "n"] });
  await put("/validations/former", { type: "object" });
  await client.request("DELETE", "/validations/former");
}

async function sendSigned(client: ApiClient, action: string): Promise<void> {
  const body = JSON.stringify({ action, number: 1 });
  const signature = createHmac("sha256", SECRET).update(body).digest("hex");
  await client.webhook("signed", body, {
    "x-hub-signature-256": `sha256=${signature}`,
    "x-github-event": "pull_request",
    "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
  });
}
