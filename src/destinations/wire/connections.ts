import type { Clock, Timer } from "../../model/clock.ts";
import type { GuardedConnect } from "./guarded-connect.ts";
import { type Exchange, Wire } from "./exchange.ts";
import type { Target } from "./http.ts";
import { createWaitingLine, type WaitingLine } from "./waiting-line.ts";

interface ConnectionsOptions {
  connect: GuardedConnect;
  clock: Clock;
  /**
   * Maximum number of open connections to a host, over all its pools. With several tenants, none gets all of them; one
   * that has none gets one beyond the maximum, up to twice as many in all.
   */
  perHost: number;
  /** How many idle connections are kept; more are closed after a moment. */
  keptPerHost: number;
  max: number;
  /** How long a connection may be idle when the destination does not say. */
  keepAliveMs: number;
}

interface Host {
  readonly pools: Set<Pool>;
  open: number;
  idle: number;
  /** The lowest number of idle connections since the last check: so many are not needed. */
  leastIdle: number;
  /** Pools without a connection, which wait for another connection of the host to close. */
  readonly starved: Pool[];
  /** How many connections each tenant uses. */
  readonly held: Map<string, number>;
  /** A request waits because its tenant uses enough connections, not because there is no room. */
  holdsBack: boolean;
}

interface Pool {
  readonly target: Target;
  readonly host: Host;
  readonly tls: { session?: Buffer };
  readonly idle: Slot[];
  open: number;
  readonly waiting: WaitingLine<Exchange>;
  isStarved: boolean;
  readonly mayServe: (owner: string) => boolean;
  readonly mayGoBeyond: (owner: string) => boolean;
}

class Slot extends Wire {
  readonly pool: Pool;
  isOpen = true;
  /** The tenant that uses the connection. */
  owner: string | undefined;
  /** Until when the connection may be idle. */
  keptUntil = 0;

  constructor(pool: Pool, ...rest: ConstructorParameters<typeof Wire>) {
    super(...rest);
    this.pool = pool;
  }
}

/** How long connections beyond the usual number may be idle: they are needed again between the requests of a burst. */
const SPARE_MS = 1000;
const MAX_KEEP_ALIVE_MS = 60_000;
/**
 * A tenant may use one more connection of a host while it uses less than this multiple of the unused rest. Alone, a
 * tenant gets at most three quarters, and the next tenant as much of the rest. So there is nearly always one for a
 * newcomer, however long the others are used.
 */
const SHARE_OF_REST = 3;
/** Several tenants together may still use all of them: newcomers get one beyond the maximum, up to this multiple. */
const MAX_BEYOND = 2;

export function openConnections(options: ConnectionsOptions) {
  const { connect, clock, perHost, keptPerHost, max } = options;
  const pools = new Map<string, Pool>();
  const hosts = new Map<string, Host>();
  const open = new Set<Slot>();
  /** Least recently used first. */
  const idle = new Set<Slot>();
  /** Pools without any connection. They cannot wait for one of their own to become free. */
  const starved: Pool[] = [];
  let unusedTimer: Timer | undefined;

  function findPool(target: Target): Pool {
    let pool = pools.get(target.pool);
    if (pool === undefined) {
      const host = findHost(target.origin);
      pool = {
        target,
        host,
        tls: {},
        idle: [],
        open: 0,
        waiting: createWaitingLine(),
        isStarved: false,
        mayServe: (owner) => mayUse(host, owner),
        mayGoBeyond: (owner) => mayGoBeyond(host, owner),
      };
      host.pools.add(pool);
      pools.set(target.pool, pool);
    }
    return pool;
  }

  function findHost(origin: string): Host {
    let host = hosts.get(origin);
    if (host === undefined) {
      host = { pools: new Set(), open: 0, idle: 0, leastIdle: 0, starved: [], held: new Map(), holdsBack: false };
      hosts.set(origin, host);
    }
    return host;
  }

  function openSlot(pool: Pool, owner: string): Slot {
    const { protocol, hostname, port, terms } = pool.target;
    const slot: Slot = new Slot(
      pool,
      (onRead, done) => connect({ protocol, hostname, port, owner, terms, tls: pool.tls, onRead }, done),
      () => discard(slot),
    );
    open.add(slot);
    pool.open += 1;
    pool.host.open += 1;
    return slot;
  }

  /** Requests without a tenant are the gateway's own, and few. */
  function mayUse(host: Host, owner: string): boolean {
    const held = owner === "" ? 0 : (host.held.get(owner) ?? 0);
    const left = perHost - (host.open - host.idle);
    return held === 0 || held < SHARE_OF_REST * (left - 1);
  }

  /** While others use all connections of the host. */
  function mayGoBeyond(host: Host, owner: string): boolean {
    return !host.held.has(owner) && host.open < perHost * MAX_BEYOND;
  }

  function give(slot: Slot, waiter: Exchange): void {
    const { held } = slot.pool.host;
    slot.owner = waiter.owner;
    held.set(waiter.owner, (held.get(waiter.owner) ?? 0) + 1);
    waiter.start(slot);
  }

  /** The connection is no longer in use. */
  function takeBack(slot: Slot): void {
    const { owner } = slot;
    if (owner === undefined) return;
    const { held } = slot.pool.host;
    const left = (held.get(owner) ?? 0) - 1;
    if (left > 0) held.set(owner, left);
    else held.delete(owner);
    slot.owner = undefined;
  }

  function closeSlot(slot: Slot): void {
    if (!slot.isOpen) return;
    const { pool } = slot;
    slot.isOpen = false;
    takeBack(slot);
    open.delete(slot);
    pool.open -= 1;
    pool.host.open -= 1;
    if (idle.has(slot)) {
      pool.idle.splice(pool.idle.indexOf(slot), 1);
      recordUse(slot);
    }
    slot.destroy();
  }

  function recordUse(slot: Slot): void {
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

  /** Closes an idle connection with other terms to make room. */
  function makeRoomAtHost(host: Host): boolean {
    if (host.open < perHost) return true;
    if (host.idle === 0) return false;
    for (const pool of host.pools) if (closeIdle(pool.idle[0])) return true;
    return false;
  }

  /** Opens the connections that the pool's waiting requests need and may have. */
  function serve(pool: Pool): void {
    while (pool.waiting.has(pool.mayServe)) {
      const hasRoomAtHost = makeRoomAtHost(pool.host);
      const mayTake = hasRoomAtHost ? pool.mayServe : pool.mayGoBeyond;
      const waiter = pool.waiting.has(mayTake) && makeRoom() ? pool.waiting.take(mayTake) : undefined;
      if (waiter === undefined) {
        if (pool.open === 0 && !pool.isStarved) {
          pool.isStarved = true;
          (hasRoomAtHost ? starved : pool.host.starved).push(pool);
        }
        // Its tenant may be without a connection when the next one ends.
        if (!hasRoomAtHost) pool.host.holdsBack = true;
        return;
      }
      give(openSlot(pool, waiter.owner), waiter);
    }
    if (!pool.waiting.isEmpty) pool.host.holdsBack = true;
    forgetUnused(pool);
  }

  /** A connection of the host is no longer used: held-back requests may have waited for that. */
  function serveHeldBack(host: Host): void {
    if (!host.holdsBack) return;
    host.holdsBack = false;
    for (const pool of host.pools) if (!pool.waiting.isEmpty) serve(pool);
  }

  function serveStarved(host: Host): void {
    // When there is no room anywhere, the pools move to the list that waits for room at any host.
    while (host.starved.length > 0 && host.open < perHost) serveOne(host.starved.shift() as Pool);
    for (let left = starved.length; left > 0 && (open.size < max || idle.size > 0); left--) {
      serveOne(starved.shift() as Pool);
    }
  }

  function serveOne(pool: Pool): void {
    pool.isStarved = false;
    const waiter = pool.waiting.take(pool.mayServe);
    if (waiter === undefined) {
      if (!pool.waiting.isEmpty) pool.host.holdsBack = true;
      return forgetUnused(pool);
    }
    const hasRoomAtHost = makeRoomAtHost(pool.host);
    if (hasRoomAtHost && makeRoom()) return give(openSlot(pool, waiter.owner), waiter);
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

  function wait(pool: Pool, waiter: Exchange): void {
    pool.waiting.push(waiter);
    serve(pool);
  }

  function discard(connection: Wire): void {
    const slot = connection as Slot;
    if (!slot.isOpen) return;
    closeSlot(slot);
    serveStarved(slot.pool.host);
    serve(slot.pool);
    serveHeldBack(slot.pool.host);
  }

  /** A free connection of this pool is no use to other pools, but it can be closed to open one of theirs. */
  function serveOthers(pool: Pool): void {
    for (const other of pool.host.pools) {
      if (other !== pool && !other.waiting.isEmpty) serve(other);
    }
  }

  function isNeededElsewhere(host: Host): boolean {
    return (starved.length > 0 && open.size >= max) || (host.starved.length > 0 && host.open >= perHost);
  }

  /** A little less than the destination said: it must not close the connection while a request is on its way. */
  function keptFor(saidMs: number | undefined): number {
    return saidMs === undefined ? options.keepAliveMs : Math.min(Math.max(0, saidMs - 1000), MAX_KEEP_ALIVE_MS);
  }

  function closeUnused(): void {
    unusedTimer = undefined;
    const now = clock.now();
    for (const slot of idle) if (slot.keptUntil <= now) closeIdle(slot);
    for (const host of hosts.values()) {
      let spare = host.leastIdle - keptPerHost;
      for (const pool of spare > 0 ? [...host.pools] : []) {
        // The first of a pool have been idle for the longest time.
        while (spare > 0 && closeIdle(pool.idle[0])) spare -= 1;
      }
      host.leastIdle = host.idle;
    }
    if (idle.size > 0) watchUnused();
  }

  function watchUnused(): void {
    unusedTimer ??= clock.setTimer(clock.now() + SPARE_MS, closeUnused);
  }

  return {
    acquire(target: Target, waiter: Exchange): void {
      const pool = findPool(target);
      if (pool.idle.length > 0 && mayUse(pool.host, waiter.owner)) {
        const now = clock.now();
        for (let slot = pool.idle.pop(); slot !== undefined; slot = pool.idle.pop()) {
          recordUse(slot);
          if (slot.keptUntil > now) return give(slot, waiter);
          closeSlot(slot);
        }
      }
      wait(pool, waiter);
    },
    acquireFresh(target: Target, waiter: Exchange): void {
      const pool = findPool(target);
      const unused = pool.host.open >= perHost ? pool.idle[0] : undefined;
      if (unused !== undefined) closeSlot(unused);
      wait(pool, waiter);
    },
    release(connection: Wire, keepAliveMs: number | undefined): void {
      const slot = connection as Slot;
      if (!slot.isOpen) return;
      const { pool } = slot;
      slot.finish();
      if (!slot.isReusable || isNeededElsewhere(pool.host)) {
        discard(slot);
        return;
      }
      takeBack(slot);
      // Counted as idle until the next request gets it.
      pool.host.idle += 1;
      const waiter = pool.waiting.isEmpty ? undefined : pool.waiting.take(pool.mayServe);
      pool.host.idle -= 1;
      if (waiter !== undefined) {
        give(slot, waiter);
        if (pool.host.pools.size > 1) serveHeldBack(pool.host);
        return;
      }
      if (pool.host.open > perHost) return discard(slot);
      slot.keptUntil = clock.now() + keptFor(keepAliveMs);
      pool.idle.push(slot);
      idle.add(slot);
      pool.host.idle += 1;
      watchUnused();
      if (pool.host.open >= perHost && pool.host.pools.size > 1) serveOthers(pool);
      serveHeldBack(pool.host);
    },
    discard,
    close(): void {
      unusedTimer?.cancel();
      unusedTimer = undefined;
      starved.length = 0;
      for (const slot of open) closeSlot(slot);
      pools.clear();
      hosts.clear();
    },
  };
}
