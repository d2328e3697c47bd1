import type { Clock, Timer } from "../model/clock.ts";
import { ERRORS, PosthornError, orThrow } from "../model/errors.ts";
import { opensDeliveries } from "../model/replay.ts";
import type { Subscription } from "../model/subscription.ts";
import type { FoundDelivery, ReplayItem, ReplayRow } from "../store/port/jobs.ts";
import type { DeliveryKey } from "../store/port/lanes.ts";
import { readAll, type Store } from "../store/store.ts";
import { formatCursor, isAtEnd, parseCursor, type ReplayCursor, createReplaySelection } from "./replay-selection.ts";
import type { Subscriptions } from "../resources/subscriptions/subscriptions.ts";

/**
 * Runs the jobs over many deliveries in small steps with a pause after each, so that other events are hardly
 * delayed. Its memory may be lost: the store keeps the position of each job.
 */
export type ReplayRunner = ReturnType<typeof createReplayRunner>;

/** How many deliveries one transaction changes; also how many rows one read examines for them. */
const STEP = 200;
const MAX_SCANNED = 2000;
/** How many lanes may have their own walk. */
const MAX_LANES = 1000;
/** The shortest pause after a step; a longer step is followed by REST_FACTOR times its own time. */
const REST_MS = 20;
const REST_FACTOR = 4;
const BUSY_REST_MS = 1000;
/** The wait while the window of every lane is full. */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 2000;
const AGAIN_MS = 1000;
const MAX_FAILURES = 5;

interface Run {
  replay: ReplayRow;
  cursor: ReplayCursor;
  wakeAt: number;
  waitMs: number;
  failures: number;
  /** The walk of this job that is next. */
  turn: number;
}

export function createReplayRunner(options: {
  store: Store;
  subscriptions: Pick<Subscriptions, "find" | "findFallback" | "findForward" | "rightsOf">;
  clock: Clock;
  /** Called when the lane has new deliveries. */
  onDue: (subscription: Subscription) => void;
  onCancelled: (key: DeliveryKey) => void;
  /** Whether the gateway is busy with other work. */
  isBusy: () => boolean;
  onFault: (error: unknown) => void;
  onEnd?: ((replay: ReplayRow) => void) | undefined;
}) {
  const { store, subscriptions, clock, onFault } = options;
  const selection = createReplaySelection({ store, subscriptions, clock });
  const windows = createLaneWindows();
  const runs = new Map<string, Run>();
  let timer: Timer | undefined;
  let working: Promise<void> | undefined;
  let isStopped = false;
  let restUntil = 0;

  function schedule(): void {
    timer?.cancel();
    timer = undefined;
    if (isStopped || working !== undefined || runs.size === 0) return;
    const wakeAt = Math.min(...[...runs.values()].map((run) => run.wakeAt));
    timer = clock.setTimer(Math.max(restUntil, wakeAt), work);
  }

  function work(): void {
    timer = undefined;
    const now = clock.now();
    const run = [...runs.values()].find(({ wakeAt }) => wakeAt <= now);
    if (run === undefined || isStopped) return schedule();
    working = workOn(run).finally(() => {
      working = undefined;
      schedule();
    });
  }

  async function workOn(run: Run): Promise<void> {
    const startedAt = clock.now();
    try {
      const hasMoved = await step(run);
      run.failures = 0;
      run.waitMs = hasMoved ? 0 : Math.min(MAX_WAIT_MS, Math.max(FIRST_WAIT_MS, run.waitMs * 2));
      run.wakeAt = clock.now() + run.waitMs;
    } catch (error) {
      await fail(run, error);
    }
    const now = clock.now();
    restUntil = now + (options.isBusy() ? BUSY_REST_MS : Math.max(REST_MS, REST_FACTOR * (now - startedAt)));
    // Moves it behind the other jobs.
    const { id } = run.replay;
    if (runs.get(id) === run && runs.delete(id)) runs.set(id, run);
  }

  /** A store without space or time may recover, so the job is retried; any other error is final. */
  async function fail(run: Run, error: unknown): Promise<void> {
    if (isStopped) return;
    run.failures++;
    run.wakeAt = clock.now() + AGAIN_MS * 2 ** Math.min(run.failures, MAX_FAILURES);
    const isPassing = error instanceof PosthornError && ERRORS[error.code].status === 503;
    onFault(error);
    if (isPassing || run.failures < MAX_FAILURES) return;
    runs.delete(run.replay.id);
    const text = error instanceof PosthornError ? error.message : "Something went wrong inside the gateway.";
    await store.jobs
      .setReplayStatus(run.replay.id, "failed", text)
      .then((replay) => options.onEnd?.(orThrow(replay)))
      .catch(onFault);
  }

  /** Resolves to whether it made progress. */
  function step(run: Run): Promise<boolean> {
    const { replay, cursor } = run;
    if (replay.laneSeq !== undefined) return cancelLane(run, replay.laneSeq);
    if (!opensDeliveries(replay.kind)) return endNext(run, cursor);
    return openNext(run, cursor);
  }

  async function cancelLane(run: Run, laneSeq: number): Promise<boolean> {
    const { id } = run.replay;
    const current = await store.jobs.findReplay(id);
    if (current?.status !== "running") return forget(run);
    if ((await store.lanes.changeLane(laneSeq, { act: "cancel" })).changed > 0) return true;
    forget(run);
    options.onEnd?.(orThrow(await store.jobs.setReplayStatus(id, "completed")));
    return true;
  }

  /** Cancelled and purged deliveries need no window, so one walk does all of them. */
  async function endNext(run: Run, { at, lanes }: ReplayCursor): Promise<boolean> {
    if (at === undefined) return write(run, { at, lanes }, [], 0);
    const page = await selection.walk(run.replay, at, { limit: STEP, maxScanned: MAX_SCANNED });
    return change(run, { at: page.isEnd ? undefined : page.after, lanes }, page.found);
  }

  async function openNext(run: Run, cursor: ReplayCursor): Promise<boolean> {
    const { lanes, at } = cursor;
    const waiting = [...lanes].flatMap(([seq, eventSeq]) => (eventSeq === undefined ? [] : [seq]));
    const rooms = await roomsOf(waiting);
    const ready = waiting.filter((seq) => (rooms.get(seq) ?? 0) > 0);
    run.turn++;
    if (at !== undefined && (run.turn % 2 === 0 || ready.length === 0)) return openCommon(run, lanes, at);
    const lane = ready[run.turn % ready.length];
    if (lane !== undefined) return openLane(run, cursor, lane, rooms.get(lane) ?? 0);
    return isAtEnd(cursor) ? write(run, cursor, [], 0) : false;
  }

  async function roomsOf(seqs: readonly number[]): Promise<Map<number, number>> {
    const open = seqs.length === 0 ? [] : await store.reads.countReopened(seqs, MAX_WINDOW);
    const now = clock.now();
    return new Map(seqs.map((seq, i) => [seq, roomOf(seq, open[i] ?? 0, now)]));
  }

  function roomOf(seq: number, open: number, now: number): number {
    const subscription = subscriptions.find(seq);
    // Nothing is opened for a deleted subscription; its deliveries are only counted.
    if (subscription === undefined) return STEP;
    return subscription.status === "active" ? windows.room(seq, open, now) : 0;
  }

  /** The common walk: a lane whose window is full leaves it. */
  async function openCommon(run: Run, lanes: ReplayCursor["lanes"], after: DeliveryKey): Promise<boolean> {
    const page = await selection.walk(run.replay, after, { limit: STEP, maxScanned: MAX_SCANNED });
    const rest = page.found.filter(({ subscriptionSeq }) => !lanes.has(subscriptionSeq));
    const rooms = await roomsOf([...new Set(rest.map(({ subscriptionSeq }) => subscriptionSeq))]);
    const parted = new Map(lanes);
    const taken: FoundDelivery[] = [];
    for (const found of rest) {
      const { eventSeq, subscriptionSeq } = found;
      if (parted.has(subscriptionSeq)) continue;
      const room = rooms.get(subscriptionSeq) ?? 0;
      if (room > 0) {
        rooms.set(subscriptionSeq, room - 1);
        taken.push(found);
      } else if (parted.size < MAX_LANES) {
        parted.set(subscriptionSeq, eventSeq - 1);
      } else {
        // So many lanes are full that the walk itself waits for them.
        const last = { eventSeq, subscriptionSeq: subscriptionSeq - 1 };
        return (await change(run, { at: last, lanes: parted }, taken)) && taken.length > 0;
      }
    }
    return change(run, { at: page.isEnd ? undefined : page.after, lanes: parted }, taken);
  }

  async function openLane(run: Run, { at, lanes }: ReplayCursor, lane: number, room: number): Promise<boolean> {
    const after = afterEvent(lanes.get(lane) ?? run.replay.upToSeq);
    const page = await selection.walk(run.replay, after, {
      limit: Math.min(STEP, room),
      maxScanned: MAX_SCANNED,
      lane,
    });
    const next = new Map(lanes).set(lane, page.isEnd ? undefined : page.after.eventSeq);
    return change(run, { at, lanes: next }, page.found);
  }

  async function change(run: Run, next: ReplayCursor, found: readonly FoundDelivery[]): Promise<boolean> {
    const { items, impossible } = await selection.select(run.replay, found);
    if (items.length + impossible > 0 || isAtEnd(next)) return write(run, next, items, impossible);
    // Not written: after a crash the same rows are simply read again.
    run.cursor = next;
    return true;
  }

  async function write(run: Run, next: ReplayCursor, items: readonly ReplayItem[], failed: number): Promise<boolean> {
    const { id, cursor: cursorFrom } = run.replay;
    const isEnd = isAtEnd(next);
    const cursorTo = formatCursor(next);
    const step = { id, cursorFrom, cursorTo, isEnd, failed, now: clock.now(), wall: clock.wall() };
    const { changed, replay } = orThrow(await store.jobs.stepReplay(step, items));
    run.replay = replay;
    run.cursor = parseCursor(replay.cursor);
    if (changed !== undefined) {
      notify(
        replay,
        items.filter((_, i) => changed[i] === true),
      );
    }
    if (replay.status !== "running") forget(run);
    if (changed !== undefined && isEnd) options.onEnd?.(replay);
    return true;
  }

  function notify({ kind }: ReplayRow, changed: readonly ReplayItem[]): void {
    const now = clock.now();
    const counts = new Map<number, number>();
    for (const item of changed) {
      if (kind === "cancel") options.onCancelled(item);
      counts.set(item.subscriptionSeq, (counts.get(item.subscriptionSeq) ?? 0) + 1);
    }
    for (const [seq, count] of counts) {
      if (opensDeliveries(kind)) windows.recordOpened(seq, count, now);
      const subscription = subscriptions.find(seq);
      if (subscription !== undefined) options.onDue(subscription);
    }
  }

  function forget(run: Run): false {
    if (runs.get(run.replay.id) === run) runs.delete(run.replay.id);
    return false;
  }

  function add(replay: ReplayRow): void {
    const cursor = parseCursor(replay.cursor);
    runs.set(replay.id, { replay, cursor, wakeAt: clock.now(), waitMs: 0, failures: 0, turn: 0 });
    schedule();
  }

  return {
    selection,
    async start(): Promise<void> {
      const running = await readAll((page) => store.jobs.listReplays({ status: "running" }, page));
      for (const replay of running.toReversed()) add(replay);
    },
    add,
    drop: (id: string) => void runs.delete(id),
    /** Whether the open deliveries of this deleted subscription are being cancelled. */
    isCancelling: (seq: number) => [...runs.values()].some(({ replay }) => replay.laneSeq === seq),
    async stop(): Promise<void> {
      isStopped = true;
      timer?.cancel();
      await working;
    },
  };
}

/** The position after all deliveries of an event. */
function afterEvent(eventSeq: number): DeliveryKey {
  return { eventSeq, subscriptionSeq: Number.MAX_SAFE_INTEGER };
}

export const MAX_WINDOW = 1000;
const FIRST_WINDOW = 64;
const MIN_WINDOW = 8;
/** A lane that finishes half of its window this soon gets a larger one. */
const FAST_MS = 2000;
const SLOW_MS = 10_000;

interface Window {
  size: number;
  /** Since when more than half of the window is open. */
  fullSince: number | undefined;
}

/**
 * How many replayed deliveries may be open in a lane at once: about as many as it sends in a few seconds. Open
 * deliveries are sent by age; with thousands of them in a slow lane, new events would wait behind them.
 */
export function createLaneWindows() {
  const windows = new Map<number, Window>();

  function windowOf(seq: number): Window {
    let window = windows.get(seq);
    if (window === undefined) windows.set(seq, (window = { size: FIRST_WINDOW, fullSince: undefined }));
    return window;
  }

  return {
    /** How many more may be opened in a lane that has `open` of them. */
    room(seq: number, open: number, now: number): number {
      const window = windowOf(seq);
      if (open > window.size / 2) {
        window.fullSince ??= now;
        return 0;
      }
      if (window.fullSince !== undefined) {
        window.size = resize(window.size, now - window.fullSince);
        window.fullSince = undefined;
      }
      return Math.max(0, window.size - open);
    },
    /** Records how many are open after some were opened. */
    recordOpened(seq: number, open: number, now: number): void {
      const window = windowOf(seq);
      if (open > window.size / 2) window.fullSince ??= now;
    },
  };
}

function resize(size: number, tookMs: number): number {
  if (tookMs <= FAST_MS) return Math.min(MAX_WINDOW, size * 2);
  return tookMs > SLOW_MS ? Math.max(MIN_WINDOW, size / 2) : size;
}
