import { SEARCH_BUDGET_MS } from "../../dist/model/event-search.js";
import { createEvent, openFilled } from "../filled-store.mjs";
import { describeLatencies } from "../statistics.mjs";

/** What a page may take with its last step and the way to the reader and back. */
const PAGE_MS = 50;
const LIMIT = 50;
const ROUNDS = 100;
const TEXT_PAGES = 40;

const TYPES = 200;
const SOURCES = 20;
const TENANTS = 100;
const KEYS = 100_000;

/** The first page of each search that need not read everything, and a page of a text that is nowhere. */
export async function measureSearch(bench) {
  const { plan } = bench;
  const count = plan.stored;
  const store = await openFilled(bench, "search", count, (i) => createVaried(i, count));
  const at = (share) => samples[Math.floor(share * (samples.length - 1))];
  const rows = [];
  const details = {};
  try {
    for (const [name, filterOf] of Object.entries(searches(at, count))) {
      const us = [];
      const cpuUs = [];
      let found = 0;
      for (let i = -5; i < ROUNDS; i++) {
        const filter = filterOf(i + 5);
        const startedAt = performance.now();
        const before = process.cpuUsage();
        const page = await store.reads.listEvents(filter, {
          limit: LIMIT,
          cursor: undefined,
          budgetMs: SEARCH_BUDGET_MS,
        });
        if (i < 0) continue;
        us.push((performance.now() - startedAt) * 1000);
        const { user, system } = process.cpuUsage(before);
        cpuUs.push(user + system);
        if (page.rows.length > 0) found++;
      }
      const { p50Ms, p99Ms } = (details[name] = describeLatencies(us));
      rows.push({
        figure: `first page by ${name}, p99`,
        value: p99Ms,
        unit: "ms",
        must: PAGE_MS,
        isLowerBetter: true,
        note: `median ${p50Ms.toFixed(1)} ms, ${describeLatencies(cpuUs).p50Ms.toFixed(1)} ms of CPU; ${found} of ${ROUNDS} first pages have rows`,
      });
    }
    rows.push(await measureText(store, details));
  } finally {
    await store.close();
  }
  const scaled = plan.isLong ? "" : " (scaled; 3,000,000 with --long)";
  rows[0].note += `; ${count.toLocaleString("en")} events${scaled}`;
  return { rows, details };
}

async function measureText(store, details) {
  const us = [];
  let cursor;
  let searched = 0;
  for (let i = 0; i < TEXT_PAGES; i++) {
    const startedAt = performance.now();
    const page = await store.reads.listEvents(
      { text: "nowhere in any" },
      { limit: LIMIT, cursor, budgetMs: SEARCH_BUDGET_MS },
    );
    us.push((performance.now() - startedAt) * 1000);
    if (cursor !== undefined && page.nextCursor !== undefined) searched += Number(cursor) - Number(page.nextCursor);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  const { p50Ms, p99Ms, count } = (details.text = describeLatencies(us));
  return {
    figure: "a page of a text search that finds nothing, p99",
    value: p99Ms,
    unit: "ms",
    must: PAGE_MS,
    isLowerBetter: true,
    note: `median ${p50Ms.toFixed(1)} ms; ${Math.round(searched / Math.max(1, count - 2)).toLocaleString("en")} events a page`,
  };
}

function searches(at, count) {
  const share = (i) => (i % 97) / 97;
  return {
    type: (i) => ({ type: `area${i % 20}.thing${i % TYPES}.done` }),
    "a type that came once, long ago": () => ({ type: "rare.bird.seen" }),
    "pattern of a type": (i) => ({ typePattern: `area${i % 20}.#` }),
    source: (i) => ({ source: `source-${i % SOURCES}` }),
    tenant: (i) => ({ tenantId: `tenant-${i % TENANTS}` }),
    "tenant and type": (i) => ({ tenantId: `tenant-${i % TENANTS}`, type: `area${i % 20}.thing${i % TYPES}.done` }),
    "a generated id": (i) => ({ id: at(share(i)).id }),
    "the beginning of an id": (i) => ({ idPrefix: at(share(i)).id.slice(0, 16) }),
    "an id that was given": (i) => ({ id: at(share(i)).given }),
    "ordering key": (i) => ({ orderingKey: `customer-${(i * 997) % KEYS}` }),
    label: (i) => ({ labels: [{ name: "batch", value: String((i * 31) % (count / 1000)) }] }),
    "a day in the past": (i) => ({
      since: timeOf(share(i) * count, count),
      until: timeOf(share(i) * count, count) + 60_000,
    }),
    "what failed": () => ({ status: "FAILED" }),
    "what failed, of a tenant": (i) => ({ status: "FAILED", tenantId: `tenant-${i % TENANTS}` }),
    "what waits": () => ({ status: "PENDING" }),
    "what nobody wanted": () => ({ unmatched: true }),
  };
}

/** Spread over the last 30 days. */
function timeOf(i, count) {
  return START + Math.floor((i / count) * 30 * 86_400_000);
}

const START = Date.now() - 30 * 86_400_000;
const samples = [];

function createVaried(i, count) {
  const hasId = i % 10 === 0;
  const event = createEvent(hasId);
  const mixed = Math.imul(i, 2_654_435_761) >>> 0;
  event.type = i === 100 ? "rare.bird.seen" : `area${mixed % 20}.thing${mixed % TYPES}.done`;
  event.source = `source-${mixed % SOURCES}`;
  event.tenantId = `tenant-${(mixed >>> 8) % TENANTS}`;
  event.receivedAt = timeOf(i, count);
  if (i % 2 === 0) event.orderingKey = `customer-${mixed % KEYS}`;
  if (i % 4 === 0) event.details = JSON.stringify({ metadata: { batch: Math.floor(i / 1000), team: "blue" } });
  if (i % 1000 === 500) event.end = "dead";
  else if (i % 100 === 50) event.end = "unmatched";
  else if (i % (count / 200) === 1) event.end = "open";
  if (hasId) samples.push({ id: undefined, given: event.id });
  else if (i % 10 === 1) samples.at(-1).id = event.id;
  return event;
}
