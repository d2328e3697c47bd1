import { setMaxListeners } from "node:events";
import type { Clock } from "../../model/clock.ts";
import type { Source } from "../../model/source.ts";
import type { Taker, TakenMessage } from "../../queues/broker.ts";
import { listUnused, readPullSettings, type PullSettings } from "../../sources/pull-options.ts";
import type { PulledSourceKind, SourceKind } from "../../sources/source-kind.ts";
import { handleMessage, type Handling, type HandlingOptions, type Turn } from "./handle-message.ts";
import { backOffMs, createSignal, pause } from "./hold.ts";

/** The state of a queue, as far as is known. */
export interface PulledFacts {
  readonly source: string;
  readonly connection: { kind: string; name: string };
  /** The number of waiting messages; the last known one while the broker cannot be reached. */
  depth: number | undefined;
  /** Why no messages can be received or parked; undefined while they can. */
  readonly trouble: string | undefined;
}

export interface PullersOptions extends HandlingOptions {
  listSources: () => readonly Source[];
  kinds: ReadonlyMap<string, SourceKind>;
  clock: Clock;
  /** The gateway's own, for sources without one. */
  messageKey: string | undefined;
  /** How many messages may be held now: fewer than the source's setting, or none, while there is a problem. */
  maxHeld: (source: Source, settings: PullSettings) => number;
}

/** One puller for each active source of a pulled kind. */
export function createPullers(options: PullersOptions) {
  const { listSources, kinds } = options;
  const running = new Map<string, { source: Source; puller: Puller }>();
  /** By source: the end of the previous puller, which may still hold messages. */
  const ending = new Map<string, Promise<void>>();
  let isStarted = false;

  function start(source: Source): void {
    const kind = kinds.get(source.kind);
    if (kind?.isPulled === true) running.set(source.name, { source, puller: startPuller(source, kind, options) });
  }

  function end({ name }: Source, puller: Puller): void {
    running.delete(name);
    const ended = puller.stop().then(() => {
      ending.delete(name);
      update();
    });
    ending.set(name, ended);
  }

  /** Must be called when sources may have changed. */
  function update(): void {
    if (!isStarted) return;
    const wanted = new Map(listSources().flatMap((one) => (one.status === "active" ? [[one.name, one]] : [])));
    // A changed source gets a new puller, because its queue may be another one.
    for (const { source, puller } of running.values()) if (wanted.get(source.name) !== source) end(source, puller);
    for (const [name, source] of wanted) if (!running.has(name) && !ending.has(name)) start(source);
  }

  return {
    start() {
      isStarted = true;
      update();
    },
    update,
    list: (): readonly PulledFacts[] => [...running.values()].map(({ puller }) => puller.facts),
    /** Receives no new messages. */
    stopTaking() {
      isStarted = false;
      for (const { puller } of running.values()) puller.stopTaking();
    },
    /** Resolves when all messages are settled or returned. */
    async stop() {
      isStarted = false;
      for (const { source, puller } of running.values()) end(source, puller);
      await Promise.all(ending.values());
    },
  };
}

const COUNT_EVERY_MS = 15_000;
/** How often to check whether messages can be received again. */
const LOOK_AGAIN_MS = 1000;
/** The time for data that is being written to disk when the gateway stops. */
const CUT_AFTER_MS = 5000;

type Puller = ReturnType<typeof startPuller>;

/** Receives the messages of one source's queue, and settles each when its result is known. */
function startPuller(source: Source, kind: PulledSourceKind, options: PullersOptions) {
  const { clock, onTrouble } = options;
  const own = readPullSettings(source.settings.options, kind.options);
  const settings = { ...own, messageKey: own.messageKey ?? options.messageKey };
  const taking = new AbortController();
  const stopping = new AbortController();
  const cut = createSignal();
  // Each message adds a listener.
  setMaxListeners(0, stopping.signal);
  const handling = new Set<Promise<void>>();
  let onRoom: (() => void) | undefined;
  /** Ends waiting for messages. */
  let waiting = new AbortController();
  /** The pending call. If nobody waits for it any more, it continues, and its messages are returned to the queue. */
  let call: Promise<TakenMessage[]> | undefined;
  /** What an abandoned call has brought, on its way back. */
  let returning: Promise<unknown> = Promise.resolve();
  /** Messages that wait until we can write again. */
  let delayed = 0;
  /** Resolves when the last message that was received may be followed by another. */
  let lastTurn = Promise.resolve();
  const connection = { kind: source.kind, name: settings.connection };
  /** Why no messages can be received, and why they cannot be parked. */
  const troubles: Record<"take" | "park", string | undefined> = { take: undefined, park: undefined };
  const facts: PulledFacts = {
    source: source.name,
    connection,
    depth: undefined,
    get trouble() {
      return troubles.take ?? troubles.park;
    },
  };

  const warned = new Set<string>();

  function fail(error: unknown, failures: number, what: string): void {
    troubles.take = describe(error);
    if (failures === 1) onTrouble(source, error, what);
  }

  async function countWaiting(): Promise<void> {
    while (!taking.signal.aborted) {
      facts.depth = await kind.depth(source.settings).catch(() => facts.depth);
      await pause(clock, COUNT_EVERY_MS, taking.signal);
    }
  }

  async function openTaker(): Promise<Taker | undefined> {
    for (let failures = 1; !taking.signal.aborted; failures++) {
      try {
        return await kind.openTaker(source.settings);
      } catch (error) {
        fail(error, failures, "the queue of a source cannot be opened; retrying");
        await pause(clock, backOffMs(failures), taking.signal);
      }
    }
    return undefined;
  }

  async function takeAll(inHand: Handling): Promise<void> {
    let failures = 0;
    let hasBegun = false;
    while (!taking.signal.aborted) {
      try {
        // A target that is in QUEUE from the start: no more may come at once than it may be probed with.
        if (!hasBegun && findLimit() < settings.maxUnacknowledged) await inHand.taker.rest();
        hasBegun = true;
        await takeSome(inHand);
        failures = 0;
        troubles.take = undefined;
      } catch (error) {
        fail(error, ++failures, "no messages can be received for a source; retrying");
        await pause(clock, backOffMs(failures), taking.signal);
      }
    }
  }

  /** Receives as many messages as there is room for. */
  async function takeSome(inHand: Handling): Promise<void> {
    const { taker } = inHand;
    const room = findRoom();
    if (room <= 0) {
      const roomMade = new AbortController();
      onRoom = () => roomMade.abort();
      // Not when this puller is merely full: meanwhile other consumers may receive the messages.
      if (findLimit() < settings.maxUnacknowledged) await taker.rest();
      await pause(clock, LOOK_AGAIN_MS, taking.signal, roomMade.signal);
      onRoom = undefined;
      return;
    }
    waiting = new AbortController();
    const stopWatching = watchRoom(waiting);
    try {
      const messages = await takeUntil(taker, Math.min(room, settings.batchSize), waiting.signal);
      for (const message of messages) start(message, inHand);
    } finally {
      stopWatching();
    }
  }

  /** Waits for messages until the signal aborts. */
  async function takeUntil(taker: Taker, max: number, signal: AbortSignal): Promise<readonly TakenMessage[]> {
    while (!signal.aborted) {
      const calling = (call ??= taker.take(max, settings.idleWaitMs).finally(() => (call = undefined)));
      const over = new AbortController();
      const messages = await Promise.race([calling, whenAborted(signal, over.signal)]).finally(() => over.abort());
      if (messages === undefined) {
        // Nobody waits for these messages any more.
        calling.then(
          (late) => (returning = giveBack(late)),
          () => undefined,
        );
        await taker.rest();
        return [];
      }
      if (messages.length > 0) return messages;
    }
    return [];
  }

  function findRoom(): number {
    return findLimit() - handling.size;
  }

  function findLimit(): number {
    return delayed > 0 ? 0 : options.maxHeld(source, settings);
  }

  /** A call may wait for hours, and the state may have changed since then. */
  function watchRoom(wait: AbortController): () => void {
    const look = () => {
      if (findRoom() <= 0) wait.abort();
      else timer = clock.setTimer(clock.now() + LOOK_AGAIN_MS, look);
    };
    let timer = clock.setTimer(clock.now() + LOOK_AGAIN_MS, look);
    return () => timer.cancel();
  }

  function start(message: TakenMessage, inHand: Handling): void {
    const turn = takeTurn(lastTurn);
    lastTurn = turn.isOver;
    const handled = handleMessage(message, turn, inHand).catch((error: unknown) =>
      onTrouble(source, error, "a message could not be settled and will come again"),
    );
    handling.add(handled);
    void handled.then(() => {
      turn.pass();
      handling.delete(handled);
      onRoom?.();
    });
  }

  function warnOnce(what: string): void {
    if (!warned.has(what)) onTrouble(source, undefined, what);
    warned.add(what);
  }

  function onDelay(error: unknown): () => void {
    if (delayed++ === 0) onTrouble(source, error, "messages wait until they can be written");
    waiting.abort();
    return () => delayed--;
  }

  function onParked(error: unknown): void {
    const isNew = troubles.park === undefined;
    troubles.park =
      error === undefined ? undefined : `messages cannot be parked and stay in the queue: ${describe(error)}`;
    if (error !== undefined && isNew) onTrouble(source, error, "messages cannot be parked and stay in the queue");
  }

  /** Receives no new messages. Those that it holds continue. */
  function stopTaking(): void {
    taking.abort();
    waiting.abort();
  }

  async function run(): Promise<Taker | undefined> {
    const taker = await openTaker();
    if (taker === undefined) return undefined;
    void countWaiting();
    const own = { source, kind, settings, taker, stopping: stopping.signal, cut, parkedLater: new Set<TakenMessage>() };
    await takeAll({ ...options, ...own, onDelay, onParked, warnOnce });
    return taker;
  }

  async function close(taker: Taker): Promise<void> {
    try {
      await taker.close();
      // What came meanwhile is known after this turn. Left alone, it would stay hidden from others for a while.
      await new Promise(setImmediate);
      await returning;
    } catch (error) {
      onTrouble(source, error, "the queue of a source was not closed");
    }
  }

  for (const what of listUnused(source.settings.options)) warnOnce(what);
  const running = run();
  return {
    facts,
    stopTaking,
    /** Resolves when all messages are settled or returned, and the queue is closed. */
    async stop() {
      stopTaking();
      const taker = await running;
      stopping.abort();
      const done = new AbortController();
      const settled = Promise.all(handling).then(() => done.abort());
      await Promise.race([settled, pause(clock, CUT_AFTER_MS, done.signal)]);
      cut.set();
      await settled;
      if (taker !== undefined) await close(taker);
    },
  };
}

async function giveBack(messages: readonly TakenMessage[]): Promise<void> {
  await Promise.all(messages.map((message) => message.retry().catch(() => undefined)));
}

function whenAborted(signal: AbortSignal, unneeded: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true, signal: unneeded });
  });
}

/** Passed on only after the turns before it, so that no message overtakes another. */
function takeTurn(before: Promise<void>): Turn & { isOver: Promise<void> } {
  let end: (() => void) | undefined;
  const isOver = new Promise<void>((resolve) => (end = resolve));
  return { before, isOver, pass: () => void before.then(end) };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
