import { randomBytes, randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { publishKey } from "../../dist/domain/dedupe-key.js";
import { createIdSource } from "../../dist/domain/ids.js";
import { openSqliteStore } from "../../dist/store/sqlite/open.js";
import { createBody } from "../children/stamp.mjs";
import { BODY_BYTES } from "../plan.mjs";
import { median } from "../statistics.mjs";

const FEW = 10_000;
const FILL_BATCH = 2000;
const BATCH = 64;
const BATCHES_PER_ROUND = 60;

/** What one event costs the store, accepted and delivered, when many are stored already; in batches of 64. */
export async function measureStored(bench) {
  const { plan } = bench;
  const rows = [];
  const details = {};
  for (const hasId of [false, true]) {
    const name = hasId ? "with-id" : "without-id";
    const few = await fill(bench, `stored-few-${name}`, FEW, hasId);
    const many = await fill(bench, `stored-many-${name}`, plan.stored, hasId);
    const rounds = [];
    await measure(few, hasId);
    await measure(many, hasId);
    for (let i = 0; i < plan.rounds; i++) {
      rounds.push({ fewUs: await measure(few, hasId), manyUs: await measure(many, hasId) });
    }
    await few.close();
    await many.close();
    details[name] = rounds;
    const us = (key) => median(rounds.map((round) => round[key])).toFixed(1);
    rows.push({
      figure: `cost per event, ${plan.stored.toLocaleString("en")} stored ÷ 10,000, ${hasId ? "with" : "without"} an id`,
      value: median(rounds.map((round) => round.manyUs / round.fewUs)),
      must: hasId ? 2 : 1.2,
      aim: hasId ? 1.4 : 1.1,
      isLowerBetter: true,
      note: `${us("manyUs")} µs ÷ ${us("fewUs")} µs${plan.isLong ? "" : " (scaled; 3,000,000 with --long)"}`,
    });
  }
  return { rows, details };
}

async function fill(bench, name, count, hasId) {
  const file = join(bench.dir, name, "posthorn.db");
  const filling = await open(file, "OFF");
  for (let left = count; left > 0; left -= FILL_BATCH) await writeBatch(filling, Math.min(left, FILL_BATCH), hasId);
  await filling.close();
  const store = await open(file, "FULL");
  return {
    ...store,
    async close() {
      await store.close();
      rmSync(join(bench.dir, name), { recursive: true });
    },
  };
}

function open(file, synchronous) {
  return openSqliteStore({
    file,
    synchronous,
    wall: Date.now,
    dedupeHorizonMs: 7 * 86_400_000,
    onFatal(error) {
      throw error;
    },
  });
}

async function measure(store, hasId) {
  const startedAt = performance.now();
  for (let i = 0; i < BATCHES_PER_ROUND; i++) await writeBatch(store, BATCH, hasId);
  return ((performance.now() - startedAt) * 1000) / (BATCHES_PER_ROUND * BATCH);
}

/** Two commits: the events with their deliveries, and the deliveries' ends. */
async function writeBatch(store, count, hasId) {
  const accepted = await Promise.all(Array.from({ length: count }, () => accept(store, hasId)));
  await Promise.all(accepted.map((eventSeq) => settle(store, eventSeq)));
}

const createId = createIdSource({ wall: Date.now }, { bytes: randomBytes });
const BODY = createBody(BODY_BYTES);
const REQUEST = JSON.stringify({
  method: "POST",
  path: "/webhook/bench",
  query: "",
  remote_address: "127.0.0.1",
  headers: { host: "127.0.0.1:8080", "content-type": "application/json", "content-length": "1024" },
});

function accept(store, hasId) {
  const now = Date.now();
  const id = hasId ? randomUUID() : createId("evt");
  const event = {
    id,
    givenId: hasId,
    type: "webhook.bench",
    version: "1.0",
    source: "bench",
    tenantId: "default",
    priority: "normal",
    origin: "webhook",
    occurredAt: now,
    receivedAt: now,
    dueAt: now,
    expiresAt: undefined,
    orderingKey: undefined,
    dedupeKey: hasId ? publishKey(id) : undefined,
    contentType: "application/json",
    request: REQUEST,
    details: undefined,
    body: BODY,
    fanOutCursor: undefined,
  };
  const deliveries = [{ subscriptionSeq: 1, claim: true, ordered: false, expiresAt: undefined }];
  return new Promise((resolve, reject) => {
    store.accept(event, deliveries, (result) => {
      if (result.kind === "stored") resolve(result.eventSeq);
      else reject(new Error(result.kind, { cause: result.error }));
    });
  });
}

function settle(store, eventSeq) {
  const now = Date.now();
  const settlement = {
    eventSeq,
    subscriptionSeq: 1,
    generation: 1,
    attemptNumber: 1,
    verdict: "delivered",
    nextAttemptAt: undefined,
    deadReason: undefined,
    leavesKeyQueue: true,
    claimNext: false,
    now,
    attempt: {
      startedAt: now,
      durationMs: 2,
      result: "success",
      trigger: "first",
      url: "http://127.0.0.1:9000/hook",
      address: "127.0.0.1",
      requestHeaders: REQUEST,
      responseCode: 200,
      responseHeaders: '{"content-type":"text/plain"}',
      responseBody: Buffer.from("ok"),
      error: undefined,
    },
  };
  return new Promise((resolve, reject) => {
    store.settle(settlement, (result) => {
      if (result.applied === true) resolve();
      else reject(new Error("a settlement was not applied", { cause: result.failed }));
    });
  });
}
