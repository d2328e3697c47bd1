import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../support/api-client.ts";
import { ADMIN_KEY, startGatewayProcess, type GatewayProcess } from "../../support/gateway-process.ts";
import {
  copyExample,
  countDead,
  createOrder,
  CUSTOMERS,
  exampleEnvironment,
  post,
  readStatus,
  SECRET,
  send as sendTo,
  SENDERS_WITHOUT_KEY,
  sendMany as sendManyTo,
  TOKEN,
  type Sent,
} from "../../support/n8n-example.ts";
import { openN8nServer, type N8nServer } from "../../support/n8n-server.ts";
import { count, report } from "../../support/report.ts";
import { runCommand } from "../../support/run-command.ts";
import { LAUNCHER } from "../../support/run-cli.ts";
import { verifyStandard } from "../../support/verify-signature.ts";

const WEBHOOKS = 1000;
/** As long as n8n's own, or nearly. */
const BOOT_PHASE_MS = 500;

let folder: string;
let n8n: N8nServer;
let gateway: GatewayProcess | undefined;
let url: string | undefined;
const findUrl = () => url;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-n8n-"));
  copyExample(folder);
  n8n = await openN8nServer();
  url = undefined;
});
afterEach(async () => {
  await gateway?.kill("SIGKILL");
  await n8n.close();
  rmSync(folder, { recursive: true, force: true });
});

function changeConfig(change: (yaml: string) => string): void {
  const file = join(folder, "posthorn.yaml");
  writeFileSync(file, change(readFileSync(file, "utf8")));
}

/** On the same port every time, as its senders know it. */
async function start(): Promise<void> {
  const port = url === undefined ? {} : { POSTHORN_PORT: new URL(url).port };
  gateway = startGatewayProcess({ folder, env: { ...exampleEnvironment(n8n.url), ...port } });
  url = await gateway.ready;
}

async function runCli(cwd: string, args: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await runCommand(
    process.execPath,
    [LAUNCHER, ...args],
    cwd,
    exampleEnvironment(n8n.url),
  );
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
}

const status = () => readStatus(url);

/** The answer to a sender does not wait until it is written down that its webhook was delivered. */
async function isBack(): Promise<void> {
  await expect.poll(status).toMatchObject({ mode: "NORMAL", queue_length: 0, health: "ok" });
}

const send = (source: string, one: Sent) => sendTo(findUrl, source, one);
const sendMany = (total: number, sent: Sent[]) => sendManyTo(findUrl, total, sent);
const idOf = (body: unknown) => (body as { id: string }).id;

describe("n8n behind the gateway of the example", () => {
  // shows: B29, B49
  it("gets every webhook while it is well, and its senders know", async () => {
    await n8n.enter("ready");
    await start();
    const one = createOrder("customer-1", 1);
    await send("orders", one);
    expect(one.answers).toEqual([{ status: 200, said: "forwarded" }]);
    const [execution] = n8n.executions;
    expect(execution?.path).toBe("orders");
    expect(execution?.raw.toString()).toBe(one.body);
    expect(execution?.headers["user-agent"]).not.toMatch(/bot/i);
    const id = String(execution?.headers["webhook-id"]);
    const at = String(execution?.headers["webhook-timestamp"]);
    expect(execution?.headers["webhook-signature"]).toBe(
      verifyStandard(SECRET, id, at, execution?.raw ?? Buffer.alloc(0)),
    );
    await isBack();
  });

  // shows: B25
  it("rejects what has no token or does not fit, and hands none of it on", async () => {
    await n8n.enter("ready");
    await start();
    const { body } = createOrder("customer-1", 1);
    expect(await post(url, "orders", body, "wrong")).toBe(401);
    expect(await post(url, "orders", "{", TOKEN)).toBe(400);
    expect(await post(url, "orders", '{"id":"1"}', TOKEN)).toBe(422);
    const express = body.replace('"n":', '"express": true, "n":');
    expect(await post(url, "orders", express, TOKEN)).toBe(422);
    expect(await post(url, "unknown", "{}", TOKEN)).toBe(404);
    expect(n8n.executions).toEqual([]);
    expect(await post(url, "orders", body, TOKEN)).toBe(200);
  });

  /** What senders are told by a gateway whose n8n is starting. */
  async function sendWhileStarting(): Promise<string[]> {
    await n8n.enter("migrating");
    await start();
    const said: string[] = [];
    for (const [index, phase] of (["migrating", "no routes", "not registered"] as const).entries()) {
      await n8n.enter(phase);
      // Of different customers: none waits behind another.
      const one = createOrder(`customer-${index}`, 1);
      await send("orders", one);
      said.push(...one.answers.map((answer) => answer.said));
    }
    return said;
  }

  it("is not believed while it starts, whatever it answers", async () => {
    expect(await sendWhileStarting()).toEqual(["queued", "queued", "queued"]);
    expect(await countDead(url)).toBe(0);
    expect(await status()).toMatchObject({ queue_length: 3 });
  });

  it("would be believed by who does not know n8n: the control", async () => {
    changeConfig((yaml) => yaml.replace(/^ +(target|retry_policy): .+\n/gm, ""));
    expect(await sendWhileStarting()).toEqual(["forwarded", "queued", "queued"]);
    // The first is lost: it counts as delivered, and n8n has executed nothing.
    expect(n8n.executions).toEqual([]);
  });

  // shows: B47
  it("moves to another machine with its validations, its tokens and what waits", async () => {
    await start();
    const sent: Sent[] = [];
    await sendMany(20, sent);
    const schema = { type: "object", required: ["id", "email", "name"] };
    const put = await fetch(`${url}/validations/users`, {
      method: "PUT",
      headers: { "content-type": "application/json", "x-api-key": ADMIN_KEY },
      body: JSON.stringify(schema),
    });
    expect(await put.json()).toMatchObject({ status: "validation_updated", endpoint: "users" });
    const archive = join(folder, "move.tar.gz");
    await runCli(folder, ["backup", archive, "--with-events", "--with-master-key"]);
    await gateway?.kill("SIGTERM");

    const [old, oldUrl] = [folder, url];
    folder = mkdtempSync(join(tmpdir(), "posthorn-n8n-moved-"));
    try {
      await runCli(folder, ["restore", archive]);
      rmSync(old, { recursive: true });
      expect(existsSync(join(folder, "validations/users.json"))).toBe(true);
      await start();
      expect(url).toBe(oldUrl);
      const user = { id: "1", email: "a@example.com" };
      expect(await post(url, "users", JSON.stringify(user), TOKEN)).toBe(422);
      expect(await post(url, "users", JSON.stringify(user), "wrong")).toBe(401);
      await n8n.enter("ready");
      await until(() => n8n.executions.length === sent.length, undefined, "what waited");
      expect(n8n.executions.map(({ body }) => idOf(body)).sort()).toEqual(sent.map(({ id }) => id).sort());
      await until(async () => (await status()).mode === "NORMAL", undefined, "the mode NORMAL");
      expect(await post(url, "users", JSON.stringify({ ...user, name: "Ada" }), TOKEN)).toBe(200);
    } finally {
      rmSync(old, { recursive: true, force: true });
    }
  });

  // shows: B2
  it("misses no webhook through an outage, a crash of the gateway and its own start", async () => {
    await n8n.enter("ready");
    await start();
    const first = createOrder("customer-before", 0);
    await send("orders", first);
    expect(first.answers).toEqual([{ status: 200, said: "forwarded" }]);

    await n8n.kill();
    const sent: Sent[] = [];
    await sendMany(WEBHOOKS / 2, sent);
    // It took something a moment ago: a few seconds pass before that says nothing any more.
    await until(async () => (await status()).mode === "QUEUE", undefined, "the mode QUEUE");
    expect(await status()).toMatchObject({ mode: "QUEUE", health: "error", queue_length: WEBHOOKS / 2 });

    // In the middle of the other half.
    const rest = sendMany(WEBHOOKS / 2, sent);
    await until(() => sent.length > WEBHOOKS * 0.7, undefined, "more webhooks");
    await gateway?.kill("SIGKILL");
    await start();
    expect(await status()).toMatchObject({ mode: "QUEUE" });
    await rest;
    expect(sent).toHaveLength(WEBHOOKS);
    const answers = sent.flatMap((one) => one.answers);
    // Only one whose answer was lost with the old process may have been taken by it.
    const isTaken = ({ status, said }: { status: number; said: string }) =>
      (status === 202 && said === "queued") || (status === 200 && said === "duplicate");
    expect(answers.filter((answer) => !isTaken(answer))).toEqual([]);
    const repeated = answers.filter(({ said }) => said === "duplicate").length;
    expect(repeated).toBeLessThanOrEqual(CUSTOMERS + SENDERS_WITHOUT_KEY);

    // No phase passes unseen: it says that it is ready, and knows no webhook yet.
    await n8n.boot(BOOT_PHASE_MS, (phase) => (phase === "migrating" ? n8n.checked : n8n.answered)[phase] > 0);
    const readyAt = performance.now();
    const wanted = new Set([first, ...sent].map(({ id }) => id));
    const arrived = () => new Set(n8n.executions.map(({ body }) => idOf(body)));
    await until(() => arrived().size === wanted.size, undefined, "all webhooks");
    const arrivedMs = performance.now() - readyAt;
    await until(async () => (await status()).mode === "NORMAL", undefined, "the mode NORMAL");
    const normalMs = performance.now() - readyAt;
    const { answered } = n8n;
    report(
      `n8n outage: ${count(sent.length)} of ${count(WEBHOOKS)} arrived ${(arrivedMs / 1000).toFixed(1)} s after n8n was ready, ` +
        `NORMAL after ${(normalMs / 1000).toFixed(1)} s; while it started it answered ` +
        `${answered["no routes"] + answered["not registered"]} webhooks with 404`,
    );

    expect(arrived()).toEqual(wanted);
    // Nothing was in flight to it when the gateway was killed.
    expect(n8n.executions).toHaveLength(wanted.size);
    const bodies = new Map([first, ...sent].map(({ id, body }) => [id, body]));
    for (const { body, raw } of n8n.executions) expect(raw.toString()).toBe(bodies.get(idOf(body)));
    for (let i = 0; i < CUSTOMERS; i++) {
      const own = n8n.executions.map(({ body }) => body as { n: number; customer?: { id: string } });
      const numbers = own.filter(({ customer }) => customer?.id === `customer-${i}`).map(({ n }) => n);
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    }
    await isBack();
    expect(await countDead(url)).toBe(0);
    const after = createOrder("customer-0", WEBHOOKS + 1);
    await send("orders", after);
    expect(after.answers).toEqual([{ status: 200, said: "forwarded" }]);
  });
});
