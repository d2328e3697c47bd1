import type { Socket } from "node:net";
import type { buildConnector, Client } from "undici";
import type { Clock, Timer } from "../domain/clock.ts";
import type { ConnectionTerms } from "./connection-terms.ts";
import type { Connecting, GuardedConnect } from "./guarded-connect.ts";
import { createWaitingLine, type Waiting, type WaitingLine } from "./waiting-line.ts";

/**
 * Connections kept alive, by origin and terms. Each is an undici client of one socket, and not a part of an undici pool: so it is
 * known which socket a request goes over and whether it was used before, and a request that waits can be given up.
 */
export interface Connections {
  /** Calls `waiter.start` with a connection of its own, at once or when one is free. */
  acquire(target: Target, waiter: Waiter): void;
  /** The same, but not with a connection that lay idle. */
  acquireFresh(target: Target, waiter: Waiter): void;
  /** The request on it came to a clean end: the next one may use it. */
  release(connection: Connection): void;
  /** Ends it, whatever happens on it. */
  discard(connection: Connection): void;
  /** To be called when a request is on the wire. Calls `waiter.flooded` when far more comes in than any answer needs. */
  watch(connection: Connection, waiter: Waiter): void;
  readonly size: number;
  close(): void;
}

export interface Target {
  href: string;
  origin: string;
  protocol: string;
  hostname: string;
  port: number;
  path: string;
  /** Connections are shared among targets of one pool: the same origin under the same terms. */
  pool: string;
  terms: ConnectionTerms | undefined;
}

export interface Waiter extends Waiting {
  start(connection: Connection): void;
  flooded(connection: Connection): void;
}

export interface Connection {
  readonly client: Client;
  /** The address of the socket that is or was open. */
  address: string | undefined;
  /** How many requests the open socket has served. */
  served: number;
  /** What came in for the request on it, and whether that is more than may. */
  readBytes: number;
  isFlooded: boolean;
}

export interface ConnectionsOptions {
  connect: GuardedConnect;
  clock: Clock;
  /** Open ones, over all pools of an origin. */
  perHost: number;
  /** Unused ones that are kept; more are closed after a moment. */
  keptPerHost: number;
  /** What may come in for one request, whatever it is: also what no parser ever makes an answer of. */
  maxReadBytes: number;
  max: number;
  createClient: (origin: URL, connector: buildConnector.connector) => Client;
}

interface Host {
  readonly pools: Set<Pool>;
  open: number;
  idle: number;
  /** The fewest that were idle since the last look: so many are not needed. */
  leastIdle: number;
  /** Pools without a connection that wait for one of the host's others to end. */
  readonly starved: Pool[];
}

interface Pool {
  readonly target: Target;
  /** Parsed once: every connection is a client, and each client would parse it anew. */
  readonly origin: URL;
  readonly host: Host;
  readonly tls: { session?: Buffer };
  readonly idle: Slot[];
  open: number;
  readonly waiting: WaitingLine<Waiter>;
  isStarved: boolean;
}

interface Slot extends Connection {
  readonly pool: Pool;
  connecting: Connecting | undefined;
  /** Who waits for an answer. */
  waiter: Waiter | undefined;
  isWatched: boolean;
  socket: Socket | undefined;
  isOpen: boolean;
}

/** How long more than the usual number may lie idle: between the requests of a burst they are needed again. */
const SPARE_MS = 1000;

export function openConnections(options: ConnectionsOptions): Connections {
  const { connect, clock, perHost, keptPerHost, maxReadBytes, max, createClient } = options;
  const pools = new Map<string, Pool>();
  const hosts = new Map<string, Host>();
  const open = new Set<Slot>();
  /** Least recently used first. */
  const idle = new Set<Slot>();
  /** Pools without any connection, which therefore cannot wait for one of theirs to become free. */
  const starved: Pool[] = [];
  let spareTimer: Timer | undefined;

  function findPool(target: Target): Pool {
    let pool = pools.get(target.pool);
    if (pool === undefined) {
      const host = findHost(target.origin);
      pool = {
        target,
        origin: new URL(target.origin),
        host,
        tls: {},
        idle: [],
        open: 0,
        waiting: createWaitingLine(),
        isStarved: false,
      };
      host.pools.add(pool);
      pools.set(target.pool, pool);
    }
    return pool;
  }

  function findHost(origin: string): Host {
    let host = hosts.get(origin);
    if (host === undefined) {
      host = { pools: new Set(), open: 0, idle: 0, leastIdle: 0, starved: [] };
      hosts.set(origin, host);
    }
    return host;
  }

  function openSlot(pool: Pool): Slot {
    const { protocol, hostname, port, terms } = pool.target;
    const client = createClient(pool.origin, (_, done) => {
      slot.served = 0;
      slot.address = undefined;
      slot.socket = undefined;
      slot.connecting = connect({ protocol, hostname, port, terms, tls: pool.tls }, (error, made) => {
        if (error !== null || made === null) {
          done(error ?? new Error("not connected"), null);
          return;
        }
        const { socket, address } = made;
        slot.socket = socket;
        slot.address = address;
        slot.isWatched = false;
        socket.once("close", () => {
          if (slot.socket === socket && idle.has(slot)) discard(slot);
        });
        done(null, socket);
      });
    });
    const slot: Slot = {
      client,
      pool,
      address: undefined,
      served: 0,
      connecting: undefined,
      waiter: undefined,
      readBytes: 0,
      isFlooded: false,
      isWatched: false,
      socket: undefined,
      isOpen: true,
    };
    open.add(slot);
    pool.open += 1;
    pool.host.open += 1;
    return slot;
  }

  function closeSlot(slot: Slot): void {
    if (!slot.isOpen) return;
    const { pool } = slot;
    slot.isOpen = false;
    open.delete(slot);
    pool.open -= 1;
    pool.host.open -= 1;
    if (idle.has(slot)) {
      pool.idle.splice(pool.idle.indexOf(slot), 1);
      noteUsed(slot);
    }
    slot.client.destroy(null, () => {});
    // While it is still connecting, the client does not know the socket.
    slot.connecting?.destroy();
  }

  function noteUsed(slot: Slot): void {
    const { host } = slot.pool;
    idle.delete(slot);
    host.idle -= 1;
    if (host.idle < host.leastIdle) host.leastIdle = host.idle;
  }

  function closeIdle(slot: Slot | undefined): boolean {
    if (slot === undefined) return false;
    closeSlot(slot);
    forgetUnused(slot.pool);
    return true;
  }

  function makeRoom(): boolean {
    if (open.size < max) return true;
    const [oldest] = idle;
    return closeIdle(oldest);
  }

  /** An unused connection under other terms gives way. */
  function makeRoomAtHost(host: Host): boolean {
    if (host.open < perHost) return true;
    if (host.idle === 0) return false;
    for (const pool of host.pools) if (closeIdle(pool.idle[0])) return true;
    return false;
  }

  /** Opens what the pool's waiters need and may have. */
  function serve(pool: Pool): void {
    while (!pool.waiting.isEmpty) {
      const hasRoomAtHost = makeRoomAtHost(pool.host);
      if (!hasRoomAtHost || !makeRoom()) {
        if (pool.open === 0 && !pool.isStarved) {
          pool.isStarved = true;
          (hasRoomAtHost ? starved : pool.host.starved).push(pool);
        }
        return;
      }
      const waiter = pool.waiting.take();
      if (waiter !== undefined) waiter.start(openSlot(pool));
    }
    forgetUnused(pool);
  }

  function serveStarved(host: Host): void {
    // Where there is no room at all, they go on to the list of those who wait for room anywhere.
    while (host.starved.length > 0 && host.open < perHost) serveOne(host.starved.shift() as Pool);
    for (let left = starved.length; left > 0 && (open.size < max || idle.size > 0); left--) {
      serveOne(starved.shift() as Pool);
    }
  }

  function serveOne(pool: Pool): void {
    pool.isStarved = false;
    const waiter = pool.waiting.take();
    if (waiter === undefined) return forgetUnused(pool);
    const hasRoomAtHost = makeRoomAtHost(pool.host);
    if (hasRoomAtHost && makeRoom()) return waiter.start(openSlot(pool));
    pool.waiting.putBack(waiter);
    pool.isStarved = true;
    (hasRoomAtHost ? starved : pool.host.starved).push(pool);
  }

  function forgetUnused(pool: Pool): void {
    const isUsed = pool.open > 0 || !pool.waiting.isEmpty || pool.isStarved;
    if (isUsed || pools.get(pool.target.pool) !== pool) return;
    pools.delete(pool.target.pool);
    pool.host.pools.delete(pool);
    if (pool.host.pools.size === 0) hosts.delete(pool.target.origin);
  }

  function wait(pool: Pool, waiter: Waiter): void {
    pool.waiting.push(waiter);
    serve(pool);
  }

  function discard(connection: Connection): void {
    const slot = connection as Slot;
    if (!slot.isOpen) return;
    closeSlot(slot);
    serveStarved(slot.pool.host);
    serve(slot.pool);
  }

  /** One that became free is none of theirs, but can be closed for one of theirs. */
  function serveOthers(pool: Pool): void {
    for (const other of pool.host.pools) {
      if (other !== pool && !other.waiting.isEmpty) serve(other);
    }
  }

  function isNeededElsewhere(host: Host): boolean {
    return (starved.length > 0 && open.size >= max) || (host.starved.length > 0 && host.open >= perHost);
  }

  function closeSpare(): void {
    spareTimer = undefined;
    for (const host of hosts.values()) {
      let spare = host.leastIdle - keptPerHost;
      for (const pool of spare > 0 ? [...host.pools] : []) {
        // The first of a pool are those that were unused for longest.
        while (spare > 0 && closeIdle(pool.idle[0])) spare -= 1;
      }
      host.leastIdle = host.idle;
      if (host.idle > keptPerHost) watchSpare();
    }
  }

  function watchSpare(): void {
    spareTimer ??= clock.setTimer(clock.now() + SPARE_MS, closeSpare);
  }

  function countReads(slot: Slot, socket: Socket): void {
    // Undici reads by `read()`, which tells listeners of `data`, too. They do not make it flow: undici listens already.
    socket.on("data", (chunk: Buffer) => {
      slot.readBytes += chunk.length;
      if (slot.readBytes <= maxReadBytes) return;
      // The parser gets it next and would go through all of it: this way it stops at the first byte.
      chunk.fill(0);
      if (slot.isFlooded) return;
      slot.isFlooded = true;
      // Where zeros are allowed the parser says nothing. It must not be ended from within its own loop.
      setImmediate(() => slot.waiter?.flooded(slot));
    });
  }

  return {
    acquire(target, waiter) {
      const pool = findPool(target);
      const slot = pool.idle.pop();
      if (slot === undefined) {
        wait(pool, waiter);
        return;
      }
      noteUsed(slot);
      waiter.start(slot);
    },
    acquireFresh(target, waiter) {
      const pool = findPool(target);
      const unused = pool.host.open >= perHost ? pool.idle[0] : undefined;
      if (unused !== undefined) closeSlot(unused);
      wait(pool, waiter);
    },
    release(connection) {
      const slot = connection as Slot;
      if (!slot.isOpen) return;
      const { pool } = slot;
      slot.served += 1;
      slot.waiter = undefined;
      if (slot.socket?.destroyed === true || isNeededElsewhere(pool.host)) {
        discard(slot);
        return;
      }
      const waiter = pool.waiting.take();
      if (waiter !== undefined) {
        waiter.start(slot);
        return;
      }
      pool.idle.push(slot);
      idle.add(slot);
      pool.host.idle += 1;
      if (pool.host.idle > keptPerHost) watchSpare();
      if (pool.host.open >= perHost && pool.host.pools.size > 1) serveOthers(pool);
    },
    discard,
    watch(connection, waiter) {
      const slot = connection as Slot;
      slot.waiter = waiter;
      slot.readBytes = 0;
      if (slot.isWatched || slot.socket === undefined) return;
      slot.isWatched = true;
      countReads(slot, slot.socket);
    },
    get size() {
      return open.size;
    },
    close() {
      spareTimer?.cancel();
      spareTimer = undefined;
      starved.length = 0;
      for (const slot of open) closeSlot(slot);
      pools.clear();
      hosts.clear();
    },
  };
}
