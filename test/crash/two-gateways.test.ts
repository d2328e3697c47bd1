import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { QueueServiceClient } from "@azure/storage-queue";
import { afterAll, describe, expect, it, type TestContext } from "vitest";
import { checkAccounts, countDuplicates, describeViolations, type SentEvent } from "../support/accounting.ts";
import { until } from "../support/api-client.ts";
import { databaseOf, drained, startGatewayProcess, type GatewayProcess } from "../support/gateway-process.ts";
import { sized } from "../support/proof-size.ts";
import { openRecordingSink, type RecordingSink } from "../support/recording-sink.ts";
import { count, report } from "../support/report.ts";
import { useAzurite } from "../support/services/shared.ts";
import { readStoreFacts } from "../support/store-facts.ts";

const WEBHOOKS = sized({ short: 200, middle: 2000, long: 2000 });
/** Of each of the two. */
const KILLS = sized({ short: 2, middle: 20, long: 20 });
const SENDERS = 8;
/** A message that a gateway held when it was killed is hidden for half a minute, each time. */
const PATIENT_MS = 600_000;

const CREDENTIAL = `Bearer ${randomBytes(24).toString("hex")}`;
const MESSAGE_KEY = randomBytes(24).toString("hex");

const root = mkdtempSync(join(tmpdir(), "posthorn-two-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A gateway that is started again, in the same folder, whenever it was killed. */
interface Kept {
  url(): string | undefined;
  kill(): Promise<void>;
  stop(): Promise<void>;
}

async function keep(folder: string, config: object): Promise<Kept> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "posthorn.yaml"), JSON.stringify(config));
  let running: GatewayProcess;
  let url: string | undefined;
  async function start(): Promise<void> {
    running = startGatewayProcess({ folder });
    url = await running.ready;
  }
  await start();
  return {
    url: () => url,
    async kill() {
      url = undefined;
      expect(await running.kill("SIGKILL")).toMatchObject({ signal: "SIGKILL" });
      await start();
    },
    async stop() {
      expect(await running.kill("SIGTERM")).toMatchObject({ code: 0 });
    },
  };
}

interface World {
  vps: Kept;
  home: Kept;
  sink: RecordingSink;
  /** What was seen in the queue, decoded. */
  seen: Set<string>;
  look(): Promise<void>;
  countQueued(): Promise<number>;
  close(): Promise<void>;
}

async function openWorld(context: TestContext): Promise<World> {
  const connectionString = await useAzurite(context);
  const queue = `two-${randomBytes(6).toString("hex")}`;
  const service = QueueServiceClient.fromConnectionString(connectionString);
  for (const name of [queue, `${queue}-poison`]) await service.getQueueClient(name).create();
  const sink = await openRecordingSink();
  const connections = [{ name: "default", kind: "azure-storage-queue", connection_string: connectionString }];
  const delays = { delays_s: Array(40).fill(0.5) };
  const vps = await keep(join(root, "vps"), {
    connections,
    sources: [{ name: "load", ordering_key_from: "header:x-key", id_from: "header:x-event-id" }],
    subscriptions: [
      {
        name: "queue",
        kind: "azure-storage-queue",
        events: ["webhook.load"],
        retry_policy: delays,
        destination: {
          queue,
          format: "message",
          forward_headers: ["*", "authorization"],
          message_key: MESSAGE_KEY,
        },
      },
    ],
  });
  const home = await keep(join(root, "home"), {
    connections,
    targets: [{ name: "receiver" }],
    sources: [
      {
        name: "vps",
        kind: "azure-storage-queue",
        options: {
          queue,
          body: "message",
          message_key: MESSAGE_KEY,
          acknowledge: "delivered",
          target: "receiver",
          idle_wait_s: 0.2,
        },
      },
    ],
    subscriptions: [
      { name: "n8n", url: sink.urlOf("n8n"), target: "receiver", events: ["webhook.load"], retry_policy: delays },
    ],
  });
  const seen = new Set<string>();
  const names = [queue, `${queue}-poison`];
  return {
    vps,
    home,
    sink,
    seen,
    async look() {
      for (const name of names) {
        const { peekedMessageItems } = await service.getQueueClient(name).peekMessages({ numberOfMessages: 32 });
        for (const { messageText } of peekedMessageItems) seen.add(Buffer.from(messageText, "base64").toString("utf8"));
      }
    },
    async countQueued() {
      const depths = await Promise.all(names.map((name) => service.getQueueClient(name).getProperties()));
      return depths.reduce((sum, { approximateMessagesCount = 0 }) => sum + approximateMessagesCount, 0);
    },
    close: () => sink.close(),
  };
}

interface Sent extends SentEvent {
  body: string;
  id: string;
}

/** Each sender sends one after the other, and the same again until it has an answer. */
async function sendAll({ vps, look }: World, sent: Sent[]): Promise<void> {
  let left = WEBHOOKS;
  await Promise.all(
    Array.from({ length: SENDERS }, async (_, sender) => {
      for (let number = 0; left-- > 0; number++) {
        const id = `${sender}.${number}`;
        const body = JSON.stringify({ id, big: "9007199254740993", more: randomBytes(64).toString("base64") });
        const hash = createHash("sha256").update(body).digest("base64url");
        const one: Sent = {
          id,
          body,
          hash,
          tenantId: "default",
          orderingKey: `s${sender}`,
          sentAt: sent.length,
          answeredAt: Number.POSITIVE_INFINITY,
          answer: "unknown",
          eventId: undefined,
          deliveries: undefined,
        };
        await until(() => post(vps, one), PATIENT_MS, "an answer");
        sent.push(one);
        if (sender === 0) await look();
      }
    }),
  );
}

async function post(vps: Kept, one: Sent): Promise<boolean> {
  const url = vps.url();
  if (url === undefined) return false;
  try {
    const response = await fetch(`${url}/webhook/load`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: CREDENTIAL,
        "x-key": one.orderingKey ?? "",
        "x-event-id": one.id,
      },
      body: one.body,
    });
    await response.arrayBuffer();
    if (!response.ok) return false;
    one.answer = "acknowledged";
    return true;
  } catch {
    return false;
  }
}

describe("a gateway on a VPS and one at home, with a queue between them", () => {
  it(
    `account for each of ${WEBHOOKS} webhooks, each killed ${KILLS} times`,
    async (context) => {
      const world = await openWorld(context);
      const { vps, home, sink } = world;
      const sent: Sent[] = [];
      try {
        const sending = sendAll(world, sent);
        const arrived = () => new Set(sink.arrivals.map(({ hash }) => hash)).size;
        const progress = () => sent.length + arrived();
        // Both in turn, at moments that nobody chose.
        const moments = Array.from({ length: 2 * KILLS }, () => Math.random() * 1.6 * WEBHOOKS).sort((a, b) => a - b);
        for (const [index, moment] of moments.entries()) {
          await until(() => progress() >= moment, PATIENT_MS, "more webhooks");
          await (index % 2 === 0 ? vps : home).kill();
        }
        await sending;
        await until(() => arrived() === WEBHOOKS, PATIENT_MS, "all webhooks");
        await until(async () => (await world.countQueued()) === 0, PATIENT_MS, "an empty queue");
        await Promise.all([drained(vps.url() ?? ""), drained(home.url() ?? "")]);
        await Promise.all([vps.stop(), home.stop()]);
      } finally {
        await world.close();
      }

      const facts = await readStoreFacts(databaseOf(join(root, "home")));
      const idOf = new Map(facts.events.map(({ hash, eventId }) => [hash, eventId]));
      const expected = sent.map((one) => ({ ...one, eventId: idOf.get(one.hash) ?? "is not at home" }));
      // What arrives is named as it was on the VPS, whichever way it came.
      const arrivals = sink.arrivals.map((one) => ({ ...one, eventId: idOf.get(one.hash) ?? one.eventId }));
      const violations = checkAccounts({ ...facts, sent: expected, arrivals, ordered: new Set() });
      const atVps = await readStoreFacts(databaseOf(join(root, "vps")));
      const firstIdOf = new Map(atVps.events.map(({ hash, eventId }) => [hash, eventId]));
      expect(sink.arrivals.filter(({ hash, eventId }) => firstIdOf.get(hash) !== eventId)).toEqual([]);
      const open = atVps.events.flatMap(({ deliveries }) => deliveries).filter(({ state }) => state !== "delivered");
      const duplicates = countDuplicates(arrivals);
      const interrupted = facts.events
        .flatMap(({ deliveries }) => deliveries)
        .reduce((sum, one) => sum + one.interruptions, 0);
      report(
        `two gateways: ${count(sent.length)} webhooks, each gateway killed ${KILLS} times: ${violations.length} violations, ` +
          `${duplicates} duplicates, ${interrupted} attempts were in flight at a kill`,
      );
      expect(describeViolations(violations)).toBe("");
      expect(sent.every(({ answer }) => answer === "acknowledged")).toBe(true);
      expect(open).toEqual([]);
      expect(facts.events.filter(({ isOwn }) => isOwn !== true)).toHaveLength(WEBHOOKS);
      expect(duplicates).toBeLessThanOrEqual(interrupted);

      // They went along, and nobody on the way could read them.
      const texts = [...world.seen];
      expect(texts.length).toBeGreaterThan(0);
      expect(texts.filter((text) => text.includes(CREDENTIAL))).toEqual([]);
      expect(texts.every((text) => text.includes('"headers_sealed"'))).toBe(true);
      const encoded = Buffer.from(CREDENTIAL).toString("base64").replace(/=+$/, "");
      expect(texts.filter((text) => text.includes(encoded))).toEqual([]);
    },
    2 * PATIENT_MS,
  );
});
