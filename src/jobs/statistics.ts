import { type Clock, startRounds } from "../model/clock.ts";
import {
  addPacked,
  createHistogram,
  quantileOf,
  bucketOf,
  LATENCY_BUCKETS,
  packHistogram,
} from "../model/latency-histogram.ts";
import type { AttemptStats, Jobs } from "../store/port/jobs.ts";
import type { AttemptStatsQuery, Reads } from "../store/port/reads.ts";

/**
 * Recent results of attempts, for people. Counted in memory and written every few seconds: a crash loses only the last
 * seconds, and does not affect the counters of deliveries.
 */
export type Statistics = ReturnType<typeof createStatistics>;

/** The current span and those before it. */
export const WINDOWS = {
  last_15m: { span: "minute", spanMinutes: 1, spans: 15 },
  last_1h: { span: "minute", spanMinutes: 1, spans: 60 },
  last_24h: { span: "hour", spanMinutes: 60, spans: 24 },
  last_7d: { span: "hour", spanMinutes: 60, spans: 7 * 24 },
} as const;
export type WindowName = keyof typeof WINDOWS;

export interface Figures {
  attempts: number;
  failures: number;
  /** Deliveries that ended; those that an operator cancelled do not count. */
  ended: Readonly<Record<Ending, number>>;
  /** Undefined when there were no attempts. */
  p50Ms: number | undefined;
  p99Ms: number | undefined;
}

export interface Window extends Figures {
  spanMs: number;
  /** One for each span, latest last. */
  series: readonly (Figures & { at: number })[];
}

export interface Summary {
  lastHour: Pick<Figures, "attempts" | "failures" | "ended">;
  lastDay: Figures;
}

const EVERY_MS = 10_000;
/** Small, because transactions with events wait for it. */
const WRITTEN_AT_ONCE = 250;
/** Small, so that the reader serves others in between. */
const READ_AT_ONCE = 200;

export function createStatistics(options: {
  store: { jobs: Pick<Jobs, "addAttemptStats">; reads: Pick<Reads, "loadAttemptStats"> };
  clock: Clock;
  onFault: (error: unknown) => void;
  everyMs?: number | undefined;
}) {
  const { store, clock, onFault, everyMs = EVERY_MS } = options;
  const collector = createAttemptCollector();
  /** Sums taken from the collector that are not confirmed in the store. */
  let unwritten: AttemptStats[] = [];
  let writing: Promise<void> = Promise.resolve();
  let writes = 0;
  let isStopped = false;

  async function writeTaken(): Promise<void> {
    while (unwritten.length > 0) {
      writes++;
      const some = unwritten.slice(0, WRITTEN_AT_ONCE);
      await store.jobs.addAttemptStats(some);
      unwritten = unwritten.slice(some.length);
    }
  }

  /** Never rejects: failed writes are tried again the next time, and the collector keeps the rest. */
  function write(): Promise<void> {
    writing = writing.then(async () => {
      try {
        await writeTaken();
        unwritten = collector.take();
        await writeTaken();
      } catch (error) {
        if (!isStopped) onFault(error);
      }
    });
    return writing;
  }

  const rounds = startRounds({ clock, everyMs, run: write, onFault });

  /** Stored sums and those that wait: each attempt counts once, whatever is being written meanwhile. */
  async function load(bounds: Bounds, seqs: readonly number[]): Promise<AttemptStats[]> {
    const subscriptionSeqs = [...seqs, ...seqs.filter((seq) => seq !== EVENTS_TAKEN).map(endingsOf)];
    const wanted = new Set(subscriptionSeqs);
    for (;;) {
      await writing;
      const before = writes;
      const rows = await store.reads.loadAttemptStats({ ...bounds, subscriptionSeqs });
      if (writes !== before) continue;
      const taken = unwritten.filter(({ subscriptionSeq }) => wanted.has(subscriptionSeq));
      const waiting = [...taken, ...collector.peek(wanted)];
      return [...rows, ...waiting.filter(({ minute }) => minute >= bounds.since)];
    }
  }

  function boundsOf(name: WindowName): Bounds {
    const { span, spanMinutes, spans } = WINDOWS[name];
    const now = Math.floor(clock.wall() / 60_000);
    const until = now - (now % spanMinutes);
    return { span, since: until - (spans - 1) * spanMinutes, until };
  }

  async function describeWindow(name: WindowName, subscriptionSeqs: readonly number[]): Promise<Window> {
    const { spanMinutes, spans } = WINDOWS[name];
    const bounds = boundsOf(name);
    const { since } = bounds;
    const total = createTally();
    const tallies = Array.from({ length: spans }, createTally);
    for (const some of chunksOf(subscriptionSeqs, READ_AT_ONCE)) {
      for (const row of await load(bounds, some)) {
        total.add(row);
        // Attempts after the turn of the minute still belong to the last span.
        tallies[Math.min(spans - 1, Math.floor((row.minute - since) / spanMinutes))]?.add(row);
      }
    }
    const series = tallies.map((tally, n) => ({ at: (since + n * spanMinutes) * 60_000, ...tally.figures() }));
    return { ...total.figures(), spanMs: spanMinutes * 60_000, series };
  }

  async function tallyEach(name: WindowName, subscriptionSeqs: readonly number[]): Promise<Map<number, Tally>> {
    const tallies = new Map<number, Tally>();
    for (const row of await load(boundsOf(name), subscriptionSeqs)) {
      const seq = findOwner(row.subscriptionSeq) ?? row.subscriptionSeq;
      let tally = tallies.get(seq);
      if (tally === undefined) tallies.set(seq, (tally = createTally()));
      tally.add(row);
    }
    return tallies;
  }

  return {
    record: (subscriptionSeq: number, durationMs: number, isSuccess: boolean) =>
      collector.record(subscriptionSeq, durationMs, isSuccess, clock.wall()),
    /** Called when a delivery has ended: at its first try, later, or as a dead letter. */
    recordEnd: (subscriptionSeq: number, ending: Ending) => collector.recordEnd(subscriptionSeq, ending, clock.wall()),
    recordEvent: () => collector.recordEvent(clock.wall()),
    describeWindow,
    /** A short summary of each subscription; those without attempts are left out. */
    async summarise(subscriptionSeqs: readonly number[]): Promise<ReadonlyMap<number, Summary>> {
      const summaries = new Map<number, Summary>();
      for (const some of chunksOf(subscriptionSeqs, READ_AT_ONCE)) {
        const hours = await tallyEach("last_24h", some);
        const minutes = hours.size === 0 ? hours : await tallyEach("last_1h", [...hours.keys()]);
        for (const [seq, day] of hours) {
          summaries.set(seq, { lastHour: (minutes.get(seq) ?? createTally()).figures(), lastDay: day.figures() });
        }
      }
      return summaries;
    },
    /** For all these subscriptions together, up to now. */
    async describe(subscriptionSeqs: readonly number[]): Promise<Record<"last_1h" | "last_24h", Window>> {
      return {
        last_1h: await describeWindow("last_1h", subscriptionSeqs),
        last_24h: await describeWindow("last_24h", subscriptionSeqs),
      };
    },
    async stop(): Promise<void> {
      isStopped = true;
      await rounds.stop();
      await write();
    },
  };
}

type Bounds = Omit<AttemptStatsQuery, "subscriptionSeqs">;

type Tally = ReturnType<typeof createTally>;

function createTally() {
  const histogram = createHistogram();
  const endings = createHistogram();
  let attempts = 0;
  let failures = 0;
  return {
    add(stats: AttemptStats): void {
      if (findOwner(stats.subscriptionSeq) !== undefined) return addPacked(endings, stats.latencies);
      attempts += stats.attempts;
      failures += stats.failures;
      addPacked(histogram, stats.latencies);
    },
    figures(): Figures {
      const [first_try = 0, later = 0, dead = 0] = endings;
      const [p50Ms, p99Ms] = [quantileOf(histogram, 0.5), quantileOf(histogram, 0.99)];
      return { attempts, failures, ended: { first_try, later, dead }, p50Ms, p99Ms };
    },
  };
}

function chunksOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, n) => items.slice(n * size, (n + 1) * size));
}

export const WHOLE_GATEWAY = 0;
/** The number that stands for accepted events instead of a subscription. */
export const EVENTS_TAKEN = -1;

/** Each has a bucket of the histogram that stands for endings. */
const ENDINGS = ["first_try", "later", "dead"] as const;
type Ending = (typeof ENDINGS)[number];

/** The number that stands for the endings of a subscription's deliveries, or of the whole gateway's. */
function endingsOf(subscriptionSeq: number): number {
  return EVENTS_TAKEN - 1 - subscriptionSeq;
}

/** The subscription, or the whole gateway, whose endings the number stands for; undefined when it stands for none. */
function findOwner(endings: number): number | undefined {
  return endings < EVENTS_TAKEN ? endingsOf(endings) : undefined;
}

/** The most subscriptions counted together, 6 MB; one more closes the current sums. */
const MAX_PLACES = 10_001;
const PLACES_AT_FIRST = 64;

/** The most sums kept while the store fails, about 15 MB; then the oldest are dropped. */
const MAX_CLOSED = 50_000;

/** Counts attempts in memory, without an allocation for each, until the sums are taken. */
export function createAttemptCollector() {
  const places = new Map<number, number>();
  let counts = new Uint32Array(PLACES_AT_FIRST * LATENCY_BUCKETS);
  let failures = new Uint32Array(PLACES_AT_FIRST);
  let minute = 0;
  let closed: AttemptStats[] = [];

  function placeOf(subscriptionSeq: number): number {
    return places.get(subscriptionSeq) ?? addPlace(subscriptionSeq);
  }

  function addPlace(subscriptionSeq: number): number {
    if (places.size >= MAX_PLACES) close();
    if (places.size === failures.length) grow();
    const place = places.size;
    places.set(subscriptionSeq, place);
    return place;
  }

  function grow(): void {
    const size = Math.min(MAX_PLACES, failures.length * 2);
    const more = new Uint32Array(size * LATENCY_BUCKETS);
    more.set(counts);
    counts = more;
    const moreFailures = new Uint32Array(size);
    moreFailures.set(failures);
    failures = moreFailures;
  }

  function sumOf(subscriptionSeq: number, place: number): AttemptStats {
    const from = place * LATENCY_BUCKETS;
    let attempts = 0;
    for (let at = from; at < from + LATENCY_BUCKETS; at++) attempts += counts[at] as number;
    const latencies = packHistogram(counts, from);
    return { minute, subscriptionSeq, attempts, failures: failures[place] as number, latencies };
  }

  /** Starts new sums: another minute has begun, or the current sums are full. */
  function close(): void {
    for (const [subscriptionSeq, place] of places) closed.push(sumOf(subscriptionSeq, place));
    counts.fill(0, 0, places.size * LATENCY_BUCKETS);
    failures.fill(0, 0, places.size);
    places.clear();
    if (closed.length > MAX_CLOSED) closed = closed.slice(-MAX_CLOSED);
  }

  function count(subscriptionSeq: number, bucket: number, isSuccess: boolean): void {
    const place = placeOf(subscriptionSeq);
    const at = place * LATENCY_BUCKETS + bucket;
    counts[at] = (counts[at] as number) + 1;
    if (!isSuccess) failures[place] = (failures[place] as number) + 1;
  }

  function turn(wall: number): void {
    const current = Math.floor(wall / 60_000);
    if (current === minute) return;
    close();
    minute = current;
  }

  return {
    recordEvent(wall: number): void {
      turn(wall);
      count(EVENTS_TAKEN, 0, true);
    },
    /** `subscriptionSeq` 0 stands for the whole gateway, which is counted in addition to each subscription. */
    record(subscriptionSeq: number, durationMs: number, isSuccess: boolean, wall: number): void {
      turn(wall);
      const bucket = bucketOf(durationMs);
      count(WHOLE_GATEWAY, bucket, isSuccess);
      count(subscriptionSeq, bucket, isSuccess);
    },
    /** Counts a delivery that has ended: at its first try, later, or as a dead letter. */
    recordEnd(subscriptionSeq: number, ending: Ending, wall: number): void {
      turn(wall);
      const bucket = ENDINGS.indexOf(ending);
      count(endingsOf(WHOLE_GATEWAY), bucket, ending !== "dead");
      count(endingsOf(subscriptionSeq), bucket, ending !== "dead");
    },
    /** Returns and clears all sums since the last call. */
    take(): AttemptStats[] {
      close();
      const taken = closed;
      closed = [];
      return taken;
    },
    /** Returns the sums without clearing them. */
    peek(subscriptionSeqs: ReadonlySet<number>): AttemptStats[] {
      const found = closed.filter((sum) => subscriptionSeqs.has(sum.subscriptionSeq));
      for (const seq of subscriptionSeqs) {
        const place = places.get(seq);
        if (place !== undefined) found.push(sumOf(seq, place));
      }
      return found;
    },
  };
}
