import { createEvent, openFilled, writeBatch } from "../filled-store.mjs";
import { median } from "../statistics.mjs";

const FEW = 10_000;
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

function fill(bench, name, count, hasId) {
  return openFilled(bench, name, count, () => createEvent(hasId));
}

async function measure(store, hasId) {
  const startedAt = performance.now();
  for (let i = 0; i < BATCHES_PER_ROUND; i++) await writeBatch(store, BATCH, () => createEvent(hasId));
  return ((performance.now() - startedAt) * 1000) / (BATCHES_PER_ROUND * BATCH);
}
