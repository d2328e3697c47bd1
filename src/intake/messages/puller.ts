import { setMaxListeners } from "node:events";
import type { Clock } from "../../model/clock.ts";
import type { Source } from "../../model/source.ts";
import type { PulledMessage, PulledSourceKind, Taker } from "../../sources/source-kind.ts";
import { handleMessage, type HandlingOptions, type Turn } from "./handle-message.ts";
import { createOccasion } from "./occasion.ts";
import { backOffMs, pause } from "./pause.ts";
import { listUnused, readPullSettings, type PullSettings } from "../../sources/pull-options.ts";

/** Receives the messages of one source's queue, and settles each when its result is known. */
export interface Puller {
  readonly facts: PulledFacts;
  /** Receives no new messages. Those that it holds continue. */
  stopTaking(): void;
  /** Resolves when all messages are settled or returned, and the queue is closed. */
  stop(): Promise<void>;
}

/** The state of a queue, as far as is known. */
export interface PulledFacts {
  readonly source: string;
  readonly connection: { kind: string; name: string };
  /** The number of waiting messages; the last known one while the broker cannot be reached. */
  depth: number | undefined;
  /** Why no messages can be received or parked; undefined while they can. */
  readonly trouble: string | undefined;
}

export interface PullerOptions extends Omit<
  HandlingOptions,
  "settings" | "taker" | "limits" | "stopping" | "cut" | "turn" | "parkedLater" | "onDelay" | "onParked" | "warnOnce"
> {
  source: Source;
  kind: PulledSourceKind;
  clock: Clock;
  /** The gateway's own, for sources without one. */
  messageKey: string | undefined;
  /** How many messages may be held now: fewer than the source's setting, or none, while there is a problem. */
  maxHeld: (source: Source, settings: PullSettings) => number;
}

const COUNT_EVERY_MS = 15_000;
/** How often to check whether messages can be received again. */
const LOOK_AGAIN_MS = 1000;
/** The time for data that is being written to disk when the gateway stops. */
const CUT_AFTER_MS = 5000;

export function startPuller(options: PullerOptions): Puller {
  const { source, kind, clock, onTrouble } = options;
  const { limits, open } = kind.pull;
  const own = readPullSettings(source.settings.options, kind.pull.defaults);
  const settings = { ...own, messageKey: own.messageKey ?? options.messageKey };
  const taking = new AbortController();
  const stopping = new AbortController();
  const cut = createOccasion();
  // Each message adds a listener.
  setMaxListeners(0, stopping.signal);
  const handling = new Set<Promise<void>>();
  let onRoom: (() => void) | undefined;
  /** The pending call that waits for messages. */
  let waiting = new AbortController();
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

  async function countWaiting(taker: Taker): Promise<void> {
    while (!taking.signal.aborted) {
      facts.depth = await taker.depth().catch(() => facts.depth);
      await pause(clock, COUNT_EVERY_MS, taking.signal);
    }
  }

  async function openTaker(): Promise<Taker | undefined> {
    for (let failures = 1; !taking.signal.aborted; failures++) {
      try {
        return await open(source.settings);
      } catch (error) {
        fail(error, failures, "the queue of a source cannot be opened; retrying");
        await pause(clock, backOffMs(failures), taking.signal);
      }
    }
    return undefined;
  }

  async function takeAll(inHand: InHand): Promise<void> {
    let failures = 0;
    while (!taking.signal.aborted) {
      try {
        const taken = await takeSome(inHand);
        failures = 0;
        troubles.take = undefined;
        if (taken === 0) await pause(clock, settings.idleWaitMs, taking.signal);
      } catch (error) {
        fail(error, ++failures, "no messages can be received for a source; retrying");
        await pause(clock, backOffMs(failures), taking.signal);
      }
    }
  }

  /** Receives as many messages as there is room for; undefined when there is none. */
  async function takeSome(inHand: InHand): Promise<number | undefined> {
    const { taker } = inHand;
    const room = findRoom();
    if (room <= 0) {
      const roomMade = new AbortController();
      onRoom = () => roomMade.abort();
      // Not when this puller is merely full: meanwhile other consumers may receive the messages.
      if (findLimit() < settings.maxUnacknowledged) await taker.rest();
      await pause(clock, LOOK_AGAIN_MS, taking.signal, roomMade.signal);
      onRoom = undefined;
      return undefined;
    }
    waiting = new AbortController();
    const { signal } = waiting;
    const stopWatching = watchRoom(waiting);
    try {
      const messages = await taker.take(Math.min(room, settings.batchSize), signal);
      for (const message of messages) start(message, inHand);
      return signal.aborted ? undefined : messages.length;
    } finally {
      stopWatching();
    }
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

  function start(message: PulledMessage, inHand: InHand): void {
    const turn = takeTurn(lastTurn);
    lastTurn = turn.isOver;
    const handled = handleMessage(message, { ...inHand, turn }).catch((error: unknown) =>
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

  function stopTaking(): void {
    taking.abort();
    waiting.abort();
  }

  async function run(): Promise<Taker | undefined> {
    const taker = await openTaker();
    if (taker === undefined) return undefined;
    void countWaiting(taker);
    const own = { settings, taker, limits, stopping: stopping.signal, cut, parkedLater: new Set<PulledMessage>() };
    await takeAll({ ...options, ...own, onDelay, onParked, warnOnce });
    return taker;
  }

  for (const what of listUnused(source.settings.options)) warnOnce(what);
  const running = run();
  return {
    facts,
    stopTaking,
    async stop() {
      stopTaking();
      const taker = await running;
      stopping.abort();
      const done = new AbortController();
      const settled = Promise.all(handling).then(() => done.abort());
      await Promise.race([settled, pause(clock, CUT_AFTER_MS, done.signal)]);
      cut.come();
      await settled;
      await taker?.close().catch((error: unknown) => onTrouble(source, error, "the queue of a source was not closed"));
    },
  };
}

type InHand = Omit<HandlingOptions, "turn">;

/** Passed on only after the turns before it, so that no message overtakes another. */
function takeTurn(before: Promise<void>): Turn & { isOver: Promise<void> } {
  let end: (() => void) | undefined;
  const isOver = new Promise<void>((resolve) => (end = resolve));
  return { before, isOver, pass: () => void before.then(end) };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
