import { createTurns, type Clock, type Timer } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import type { LogPage, LogPosition, LogRequest } from "../../store/port/log-reads.ts";
import type { Store } from "../../store/store.ts";
import { createKeyPlaces, type GiveWay } from "../export-gate.ts";
import {
  createFrameIds,
  MAX_FRAME_BODY_BYTES,
  OWN_FRAME_EVENTS,
  toEntries,
  type EntryOptions,
  type FrameType,
} from "./entries.ts";
import {
  createStreamClient,
  joinFrames,
  type DropReason,
  type StreamClient,
  type StreamOutput,
  type StreamRequest,
} from "./stream-client.ts";

export interface StreamsOptions extends Omit<EntryOptions, "ids"> {
  store: Pick<Store, "info" | "reads">;
  clock: Clock;
  giveWay: GiveWay;
  maxStreams: number;
  maxStreamsPerKey: number;
  maxBufferBytes: number;
  onDropped: (reason: DropReason) => void;
  onFault: (error: unknown) => void;
}

/** How often live clients are updated, while there are any. */
const FOLLOW_MS = 50;
const HEARTBEAT_MS = 15_000;
const PAGE_LIMIT = 500;
/** How long to wait for the deliveries of an event whose fan-out takes more than one transaction. */
const FAN_OUT_MS = 5000;

export type Streams = ReturnType<typeof createStreams>;

/**
 * Live streams. They follow the store, never data that is about to be stored: frames show data on disk, in the order
 * of the logs, and a client that reconnects continues where it was. Clients that are up to date share one reader and
 * its frames; the others read on their own, at their own pace, until they have caught up.
 */
export function createStreams(options: StreamsOptions) {
  const { store, clock, giveWay, maxBufferBytes, onDropped, onFault } = options;
  const ids = createFrameIds(store.info.id);
  const entryOptions = { ...options, ids };
  const takePlace = createKeyPlaces({
    max: options.maxStreams,
    maxPerKey: options.maxStreamsPerKey,
    things: "streams",
    advice: "Close one before you open another.",
  });
  const clients = new Set<StreamClient>();
  /** The clients that have seen everything up to `head`. */
  const live = new Set<StreamClient>();
  let head: LogPosition | undefined;
  let following: Timer | undefined;
  let beating: Timer | undefined;
  let isClosed = false;
  /** One read at a time, so that no other read moves `head` meanwhile. */
  const inTurn = createTurns();
  const wait = (ms: number) => new Promise<void>((resolve) => clock.setTimer(clock.now() + ms, resolve));

  function requestFor(wanting: Iterable<StreamClient>): LogRequest {
    const requests = [...wanting].map(({ request }) => request);
    const seqs = requests.flatMap(({ filter }) => filter.subscriptionSeq ?? []);
    return {
      limit: PAGE_LIMIT,
      maxBodyBytes: requests.some(({ body }) => body !== "none") ? MAX_FRAME_BODY_BYTES : undefined,
      of: ofOneLog(requests),
      bodiesOf: OWN_FRAME_EVENTS,
      subscriptionSeqs: [...new Set(seqs)],
      fanOutSince: clock.wall() - FAN_OUT_MS,
    };
  }

  function drop(client: StreamClient, reason: DropReason): void {
    if (!client.isOpen) return;
    client.drop(reason);
    forget(client);
    onDropped(reason);
  }

  function forget(client: StreamClient): void {
    client.isOpen = false;
    clients.delete(client);
    leaveLive(client);
    if (clients.size > 0) return;
    beating?.cancel();
    beating = undefined;
  }

  function leaveLive(client: StreamClient): void {
    if (!live.delete(client) || live.size > 0) return;
    head = undefined;
    following?.cancel();
    following = undefined;
  }

  function joinLive(client: StreamClient): void {
    live.add(client);
    head = client.position;
    followSoon(FOLLOW_MS);
  }

  /** `frames` may be shared with other clients. */
  function send(client: StreamClient, page: LogPage, frames: Buffer): void {
    if (!client.request.isAllowed()) return drop(client, "key_revoked");
    if (page.deleted !== undefined) client.sendGap("deleted", page.deleted.completeSince);
    if (frames.length > 0) client.output.write(frames);
    client.position = page.position;
  }

  /** Sends one page to all live clients; returns true when there are no more entries for now. */
  async function readShared(): Promise<boolean> {
    const after = head;
    if (after === undefined) return true;
    const page = await store.reads.readLog(after, requestFor(live));
    if (live.size === 0) return true;
    head = page.position;
    const entries = toEntries(page, after, entryOptions);
    const framesOf = new Map<string, Buffer>();
    for (const client of live) {
      // Only output from earlier pages counts: a client that has read all of it is not slow, however much comes now.
      if (client.output.waitingBytes > maxBufferBytes) {
        drop(client, "too_slow");
        continue;
      }
      let frames = framesOf.get(client.group);
      if (frames === undefined) framesOf.set(client.group, (frames = joinFrames(entries, client)));
      send(client, page, frames);
    }
    return page.isEnd;
  }

  function followSoon(ms: number): void {
    following ??= clock.setTimer(clock.now() + ms, () => {
      inTurn(readShared).then(followOn, (error: unknown) => {
        onFault(error);
        followOn(true);
      });
    });
  }

  function followOn(isEnd: boolean): void {
    following = undefined;
    if (live.size > 0 && !isClosed) followSoon(isEnd ? FOLLOW_MS : 0);
  }

  function beatSoon(): void {
    beating ??= clock.setTimer(clock.now() + HEARTBEAT_MS, () => {
      beating = undefined;
      for (const client of clients) {
        if (client.isStalled()) drop(client, "stalled");
        else void beatOn(client).catch(onFault);
      }
      if (clients.size > 0) beatSoon();
    });
  }

  async function beatOn(client: StreamClient): Promise<void> {
    const isAllowed = client.request.isAllowed() && (await client.request.isKnown());
    if (!client.isOpen) return;
    if (isAllowed) client.beat();
    else drop(client, "key_revoked");
  }

  /** Sets where a client begins. Returns where it ends if it does not follow. */
  async function start(client: StreamClient): Promise<LogPosition | undefined> {
    while (!(await readShared()));
    const end = head ?? (await store.reads.findLogEnd());
    if (!client.isOpen) return undefined;
    const { after, isFollowing } = client.request;
    const isKnown = after !== undefined && "position" in after && isWithin(after.position, end);
    client.begin(isKnown ? after.position : end);
    if (after !== undefined && !isKnown) client.sendGap("unknown_position", undefined);
    if (isFollowing && isSame(client.position, end)) joinLive(client);
    return isFollowing ? undefined : end;
  }

  /** Sends one page; returns true when there are no more entries for now. */
  async function readOn(client: StreamClient, until: LogPosition | undefined): Promise<boolean> {
    const { request, position: after } = client;
    const upTo = until ?? head;
    const page = await store.reads.readLog(after, { ...requestFor([client]), tenantId: request.filter.tenantId, upTo });
    if (!client.isOpen) return true;
    send(client, page, joinFrames(toEntries(page, after, entryOptions), client));
    const isThere = upTo === undefined ? page.isEnd : isSame(page.position, upTo);
    if (!isThere || !client.isOpen) return page.isEnd;
    if (until === undefined) {
      joinLive(client);
    } else {
      client.end("caught_up");
      forget(client);
    }
    return true;
  }

  async function run(client: StreamClient): Promise<void> {
    const until = await inTurn(() => start(client));
    for (let isFirst = true; client.isOpen && !live.has(client); isFirst = false) {
      await client.output.drained();
      if (!isFirst) await giveWay();
      const isEnd = await inTurn(() => readOn(client, until));
      if (isEnd && client.isOpen && !live.has(client)) await wait(FOLLOW_MS);
    }
  }

  return {
    ids,
    /** Takes a place for a key, or for the portal links of a tenant; throws when none is free. */
    enter(owner: string): () => void {
      if (isClosed) throw new PosthornError("shutting_down", "The gateway is stopping.", { retryAfterS: 5 });
      return takePlace(owner);
    },
    open(request: StreamRequest, output: StreamOutput): void {
      const client = createStreamClient(request, output, ids);
      clients.add(client);
      output.onClose(() => forget(client));
      beatSoon();
      run(client).catch((error: unknown) => {
        if (!isClosed) onFault(error);
        drop(client, "store_fault");
      });
    },
    /** Ends all streams and tells the clients to reconnect. */
    async close(): Promise<void> {
      isClosed = true;
      for (const client of clients) {
        client.end("shutting_down");
        forget(client);
      }
      // The store is closed next, so running reads must end first.
      await inTurn(() => Promise.resolve());
    },
  };
}

/** The only log that is needed; undefined when both are. */
function ofOneLog(requests: readonly StreamRequest[]): LogRequest["of"] {
  const wants = (isWanted: (type: FrameType) => boolean) => requests.some(({ filter }) => filter.types.some(isWanted));
  if (!wants((type) => type === "attempt")) return "events";
  return wants((type) => type !== "attempt") ? undefined : "attempts";
}

function isSame(one: LogPosition, other: LogPosition): boolean {
  return one.eventSeq === other.eventSeq && one.attemptSeq === other.attemptSeq;
}

function isWithin(position: LogPosition, end: LogPosition): boolean {
  return position.eventSeq <= end.eventSeq && position.attemptSeq <= end.attemptSeq;
}
