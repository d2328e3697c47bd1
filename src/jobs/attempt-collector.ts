import { bucketOf, LATENCY_BUCKETS, packHistogram } from "../model/latency-histogram.ts";
import type { AttemptStats } from "../store/port/jobs.ts";

/** Counts attempts in memory, without an allocation for each, until the sums are taken. */
export type AttemptCollector = ReturnType<typeof createAttemptCollector>;

export const WHOLE_GATEWAY = 0;
/** The number that stands for accepted events instead of a subscription. */
export const EVENTS_TAKEN = -1;

/** Each has a bucket of the histogram that stands for endings. */
export const ENDINGS = ["first_try", "later", "dead"] as const;
export type Ending = (typeof ENDINGS)[number];

/** The number that stands for the endings of a subscription's deliveries, or of the whole gateway's. */
export function endingsOf(subscriptionSeq: number): number {
  return EVENTS_TAKEN - 1 - subscriptionSeq;
}

/** The subscription, or the whole gateway, whose endings the number stands for; undefined when it stands for none. */
export function findOwner(endings: number): number | undefined {
  return endings < EVENTS_TAKEN ? endingsOf(endings) : undefined;
}

/** The most subscriptions counted together, 6 MB; one more closes the current sums. */
const MAX_PLACES = 10_001;
const PLACES_AT_FIRST = 64;

/** The most sums kept while the store fails, about 15 MB; then the oldest are dropped. */
const MAX_CLOSED = 50_000;

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
    const noted = Math.floor(wall / 60_000);
    if (noted === minute) return;
    close();
    minute = noted;
  }

  return {
    /** Counts an accepted event. */
    noteEvent(wall: number): void {
      turn(wall);
      count(EVENTS_TAKEN, 0, true);
    },
    /** `subscriptionSeq` 0 stands for the whole gateway, which is counted in addition to each subscription. */
    note(subscriptionSeq: number, durationMs: number, isSuccess: boolean, wall: number): void {
      turn(wall);
      const bucket = bucketOf(durationMs);
      count(WHOLE_GATEWAY, bucket, isSuccess);
      count(subscriptionSeq, bucket, isSuccess);
    },
    /** Counts a delivery that has ended: at its first try, later, or as a dead letter. */
    noteEnded(subscriptionSeq: number, ending: Ending, wall: number): void {
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
