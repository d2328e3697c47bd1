// A store with many events in it, each accepted and delivered as the gateway would do it, but without waiting for the disk.
import { randomBytes, randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { publishKey, createIdSource } from "../dist/model/ids.js";
import { openSqliteStore } from "../dist/store/sqlite/open.js";
import { createBody } from "./children/stamp.mjs";
import { BODY_BYTES } from "./plan.mjs";

const FILL_BATCH = 2000;

/** `create(i)` makes the i-th event; its `end` is what becomes of its one delivery, "delivered" when not given. */
export async function openFilled(bench, name, count, create) {
  const store = await openStore(await fillStore(bench, name, count, create), "FULL");
  return {
    ...store,
    async close() {
      await store.close();
      rmSync(join(bench.dir, name), { recursive: true });
    },
  };
}

/** The file of a store that is closed again. */
export async function fillStore(bench, name, count, create) {
  const file = join(bench.dir, name, "posthorn.db");
  const filling = await openStore(file, "OFF");
  for (let done = 0; done < count; done += FILL_BATCH) {
    await writeBatch(filling, Math.min(count - done, FILL_BATCH), (i) => create(done + i));
  }
  await filling.close();
  return file;
}

export function openStore(file, synchronous) {
  return openSqliteStore({
    file,
    synchronous,
    dedupeHorizonMs: 7 * 86_400_000,
    onFatal(error) {
      throw error;
    },
  });
}

/** Two commits: the events with their deliveries, and the deliveries' ends. */
export async function writeBatch(store, count, create) {
  const events = Array.from({ length: count }, (_, i) => create(i));
  const seqs = await Promise.all(events.map((event) => accept(store, event)));
  await Promise.all(events.map(({ end, endedAt }, i) => settle(store, seqs[i], end, endedAt)));
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

export function createEvent(hasId) {
  const now = Date.now();
  const id = hasId ? randomUUID() : createId("evt");
  return {
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
}

const DELIVERIES = [{ subscriptionSeq: 1, claim: true, ordered: false, expiresAt: undefined }];

function accept(store, event) {
  return new Promise((resolve, reject) => {
    store.events.accept(event, event.end === "unmatched" ? [] : DELIVERIES, (result) => {
      if (result.kind === "stored") resolve(result.eventSeq);
      else reject(new Error(result.kind, { cause: result.error }));
    });
  });
}

function settle(store, eventSeq, end = "delivered", startedAt = Date.now()) {
  if (end === "unmatched" || end === "open") return Promise.resolve();
  const settlement = {
    eventSeq,
    subscriptionSeq: 1,
    generation: 1,
    attemptNumber: 1,
    verdict: end,
    nextAttemptAt: undefined,
    deadReason: end === "dead" ? "refused" : undefined,
    leavesKeyQueue: true,
    claimNext: false,
    attempt: {
      startedAt,
      durationMs: 2,
      result: end === "dead" ? "failed" : "success",
      trigger: "first",
      error: undefined,
      record: {
        place: "http://127.0.0.1:9000/hook",
        address: "127.0.0.1",
        sent: REQUEST,
        code: end === "dead" ? 400 : 200,
        facts: '{"content-type":"text/plain"}',
        answer: Buffer.from("ok"),
      },
    },
  };
  return new Promise((resolve, reject) => {
    store.lanes.settle(settlement, (result) => {
      if (result.applied === true) resolve();
      else reject(new Error("a settlement was not applied", { cause: result.failed }));
    });
  });
}
