import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let cli: CommandLine;
let gateway: TestGateway;
let sink: SinkServer;

beforeAll(async () => {
  [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  cli = await openCommandLine(gateway);
});

afterAll(async () => {
  await Promise.all([cli.remove(), gateway.close()]);
  await sink.close();
});

const run = (...args: string[]) => cli.run(args);
async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await cli.run([...args, "--json"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe("posthorn subscriptions", () => {
  it("makes one from flags, shows it, changes it, and prints its secret once", async () => {
    const what = [
      "--to",
      sink.url,
      "--events",
      "order.*",
      "invoice.paid",
      "--filter",
      '{"data":{"total":{"$gt":100}}}',
    ];
    const how = ["--format", "raw", "--ordered", "--rate-limit", "600", "--retry-delays", "1,2.5"];
    const beside = ["-H", "Authorization: Bearer abc", "X-Team: red", "--label", "team=erp"];
    const give = ["--give-up-on", "404", "422", "--on-give-up", "reject"];
    const forward = ["--mode", "forward", "--forward-header", "*", "X-Api-Key", ...give];
    const made = await run("subscriptions", "create", "erp", ...what, ...how, ...beside, ...forward);
    expect([made.exitCode, made.stderr]).toEqual([0, ""]);
    expect(made.stdout).toMatch(/^secret +whsec_\S+$/m);
    expect(made.stdout).not.toContain("Bearer abc");
    const [, id = ""] = /^subscription +(sub_\w+)$/m.exec(made.stdout) ?? [];
    expect(await json("subscriptions", "show", id)).toMatchObject({
      name: "erp",
      events: ["order.*", "invoice.paid"],
      give_up_on: [404, 422],
      on_give_up: "reject",
      event_filter: { data: { total: { $gt: 100 } } },
      format: "raw",
      ordered: true,
      rate_limit: 600,
      headers: { Authorization: "***", "X-Team": "***" },
      labels: { team: "erp" },
      retry_policy: { delays_s: [1, 2.5] },
      mode: "forward",
      forward_headers: ["*", "X-Api-Key"],
    });
    const shown = await run("subscriptions", "show", id);
    expect(shown.stdout).not.toContain("whsec_");
    expect(shown.stdout).toMatch(/^created .* by the key .+$/m);

    const changes = ["--no-ordered", "--rate-limit", "none", "--filter", "none", "--name", "erp2", "--timeout", "5"];
    expect(await json("subscriptions", "update", id, ...changes)).toMatchObject({
      name: "erp2",
      ordered: false,
      rate_limit: null,
      event_filter: null,
      timeout: 5,
      format: "raw",
    });
    const late = await run("subscriptions", "update", id, "--timeout", "6", "--if-match", '"old"');
    expect([late.exitCode, late.stderr]).toEqual([1, expect.stringContaining("(precondition_failed)")]);
    expect((await run("subscriptions", "--label", "team=erp")).stdout).toMatch(/^NAME .* ID\nerp2 .* sub_\w+\n/);
    expect((await run("subscriptions", "pause", id)).stdout).toBe("erp2: inactive\n");
    expect((await run("subscriptions", "resume", id)).stdout).toBe("erp2: active\n");
    const history = (await run("subscriptions", "history", id)).stdout;
    expect(history).toMatch(/ inactive +active +key:/);
    expect(history.split("\n")[0]).toMatch(/^WHEN +FROM +TO +WHO/);
    expect((await run("subscriptions", "delete", id)).stdout).toBe(`${id}: deleted, 0 open deliveries cancelled\n`);
    expect((await run("subscriptions", "show", id)).exitCode).toBe(1);
  });

  it("makes one from a file, with an id of one's own and once only", async () => {
    const settings = { name: "filed", url: sink.url, events: ["filed.event"], timeout: 9 };
    await writeFile(join(cli.path, "filed.json"), JSON.stringify(settings));
    const args = ["subscriptions", "create", "--file", "filed.json"];
    const put = await json(...args, "--id", "from-file", "--timeout", "11");
    expect(put).toMatchObject({ id: "from-file", timeout: 11 });
    expect(await json(...args, "--id", "from-file")).toMatchObject({ id: "from-file", timeout: 9 });
    const once = ["renamed", "--idempotency-key", "k1"];
    expect((await json(...args, ...once))["id"]).toBe((await json(...args, ...once))["id"]);
  });

  it("prints its statistics", async () => {
    const { id } = await json("subscriptions", "create", "counted", "--to", sink.url, "--events", "counted.event");
    await run("send", "counted.event", "--count", "3");
    await sink.received(3);
    await until(async () => (await json("subscriptions", "stats", String(id)))["delivery_count"] === 3);
    const { stdout } = await run("subscriptions", "stats", String(id));
    expect(stdout).toMatch(/^attempts +3, 0 of them failed$/m);
    expect(stdout).toMatch(/^last hour +3 +0 +100% +100% +\S+ ms +\S+ ms$/m);
  });

  it("says what is wrong with its flags, by exit code 2 and without a word of a secret", async () => {
    for (const [flags, words] of [
      [["--filter", "{"], "--filter"],
      [["--rate-limit", "many"], "--rate-limit"],
      [["--header", "secret-canary"], "--header"],
      [["--file", "not-there.json"], "not-there.json"],
      [["--retry-policy", "dairy", "--retry-delays", "1"], "choose one"],
      [["--format", "xml"], "--format"],
    ] as const) {
      const wrong = await run("subscriptions", "create", "x", "--to", sink.url, ...flags);
      expect([flags, wrong.exitCode, wrong.stderr]).toEqual([flags, 2, expect.stringContaining(words)]);
      expect(wrong.stderr).not.toContain("secret-canary");
    }
    const typo = await run("subscriptions", "shwo");
    expect([typo.exitCode, typo.stderr]).toEqual([2, expect.stringContaining("did you mean show?")]);
    const refused = await run("subscriptions", "create", "x", "--to", "nonsense", "--events", "a");
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("(invalid_field)")]);
  });
});

describe("posthorn subscriptions, as far as its own part goes", () => {
  /** Answers in a gateway's place, so that every case can be had. */
  async function ask(args: readonly string[], status: number, body: object) {
    const far = await openSinkServer({ answer: { status, body: JSON.stringify(body) } });
    const finished = await cli.run(["subscriptions", ...args, "--url", far.url]);
    await far.close();
    const [request] = far.requests;
    return { ...finished, path: request?.path, sent: request?.body.toString() };
  }

  it("tests a destination, and fails when that did not take the event", async () => {
    const attempt = { delivery_id: "dlv_1", result: "success", response_code: 204, duration_ms: 7, error: null };
    const good = await ask(["test", "sub_1"], 200, attempt);
    expect([good.exitCode, good.path]).toEqual([0, "/api/v1/subscriptions/sub_1/test"]);
    expect(good.stdout).toBe("delivery  dlv_1\nresult    success\nanswer    204\ntook      7 ms\n");
    const bad = await ask(["test", "sub_1"], 200, { ...attempt, result: "failed", response_code: 500, error: "500" });
    expect([bad.exitCode, bad.stdout]).toEqual([1, expect.stringMatching(/^result +failed$/m)]);
    const held = await ask(["test", "sub_1", "--json"], 202, { id: "dlv_1", hold_reason: "paused" });
    expect([held.exitCode, held.stderr]).toEqual([1, expect.stringContaining("it waits (paused)")]);
    expect(JSON.parse(held.stdout)).toEqual({ id: "dlv_1", hold_reason: "paused" });
  });

  it("asks for what is held to be skipped, and for what was missed", async () => {
    const resumed = await ask(["resume", "sub_1", "--skip-held"], 200, { id: "sub_1", status: "active" });
    expect([resumed.path, resumed.sent]).toEqual(["/api/v1/subscriptions/sub_1/resume", '{"held":"skip"}']);
    const since = ["--since", "2026-01-02T03:04:05Z", "--include", "all"];
    const recover = await ask(["recover", "sub_1", ...since], 202, { id: "rpl_1", status: "running", filter: {} });
    expect(recover.path).toBe("/api/v1/subscriptions/sub_1/recover");
    expect(JSON.parse(recover.sent ?? "")).toEqual({ since: "2026-01-02T03:04:05.000Z", include: "all" });
    expect(recover.stdout).toBe("id      rpl_1\nstatus  running\n");
    const plan = await ask(["recover", "sub_1", "--since", "2h", "--plan"], 200, { kind: "recover", count: 12 });
    expect(JSON.parse(plan.sent ?? "")).toMatchObject({ include: "failed", plan: true });
    expect(plan.stdout).toContain("count  12");
    expect((await cli.run(["subscriptions", "recover", "sub_1"])).exitCode).toBe(2);
    expect((await cli.run(["subscriptions", "recover", "sub_1", "--since", "soon"])).exitCode).toBe(2);
  });
});

describe("posthorn tenants, keys and event-types", () => {
  it("change what is there", async () => {
    await json("tenants", "create", "acme", "--max-subscriptions", "3", "--max-events-per-minute", "60");
    const change = ["--name", "Acme", "--max-subscriptions", "none", "--status", "inactive"];
    expect(await json("tenants", "update", "acme", ...change)).toMatchObject({
      name: "Acme",
      status: "inactive",
      quotas: { subscriptions: null, events_per_minute: 60 },
    });

    const { id, key } = await json("keys", "create", "--name", "k", "--scope", "read", "--expires", "2h");
    const changed = await run("keys", "update", String(id), "--scope", "read", "publish", "--expires", "never");
    expect(changed.stdout).toMatch(/^scopes +read, publish$/m);
    expect(changed.stdout).not.toContain(String(key));
    const shown = await json("keys", "show", String(id));
    expect(shown).toMatchObject({ scopes: ["read", "publish"], expires_at: null, name: "k" });
    expect(shown).not.toHaveProperty("key");
    expect((await run("keys", "update", String(id), "--expires", "yesterday")).exitCode).toBe(2);
  });

  it("register event types with their schemas, change and delete them", async () => {
    const facts = ["--description", "an order", "--producer", "shop", "--consumer", "erp", "crm"];
    expect((await run("event-types", "create", "order.made", ...facts)).stdout).toBe("order.made: active, no schema\n");
    await writeFile(join(cli.path, "schema.yaml"), "type: object\nrequired: [id]\n");
    await writeFile(join(cli.path, "example.json"), '{"id":1}');
    const put = ["event-types", "put-version", "order.made", "1.0", "--schema", "schema.yaml"];
    expect((await run(...put, "--example", "example.json")).stdout).toBe("order.made: active, versions 1.0\n");
    const deprecate = ["--deprecated", "--replaced-by", "order.created", "--no-enforce"];
    expect(await json("event-types", "update", "order.made", ...deprecate)).toMatchObject({
      status: "deprecated",
      replaced_by: "order.created",
      enforce: false,
      producer: "shop",
      consumers: ["erp", "crm"],
      versions: [{ version: "1.0", schema: { type: "object" }, example: { id: 1 } }],
    });
    expect(await json("event-types", "delete-version", "order.made", "1.0")).toMatchObject({ versions: [] });
    expect(await json("event-types", "delete", "order.made")).toEqual({ name: "order.made", deleted: true });
    expect((await run("event-types", "show", "order.made")).exitCode).toBe(1);
  });
});
