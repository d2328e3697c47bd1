import type { Socket } from "node:net";
import type { buildConnector, Client } from "undici";
import type { GuardedConnect } from "./guarded-connect.ts";

/**
 * Connections kept alive, by origin. Each is an undici client of one socket, and not a part of an undici pool: so it is
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
}

export interface Waiter {
  /** Set when it no longer waits. */
  readonly isFinished: boolean;
  start(connection: Connection): void;
}

export interface Connection {
  readonly client: Client;
  /** The address of the socket that is or was open. */
  address: string | undefined;
  /** How many requests the open socket has served. */
  served: number;
}

export interface ConnectionsOptions {
  connect: GuardedConnect;
  perOrigin: number;
  max: number;
  createClient: (origin: string, connector: buildConnector.connector) => Client;
}

interface Origin {
  readonly target: Target;
  readonly tls: { session?: Buffer };
  readonly idle: Slot[];
  open: number;
  waiting: Waiter[];
  waitingFrom: number;
  isStarved: boolean;
}

interface Slot extends Connection {
  readonly origin: Origin;
  socket: Socket | undefined;
  isOpen: boolean;
}

/** How many places at the head of a queue may be empty before it is cut: shifting each time would be slow. */
const MAX_SERVED_WAITERS = 1000;

export function openConnections(options: ConnectionsOptions): Connections {
  const { connect, perOrigin, max, createClient } = options;
  const origins = new Map<string, Origin>();
  const open = new Set<Slot>();
  /** Least recently used first. */
  const idle = new Set<Slot>();
  /** Origins without any connection, which therefore cannot wait for one of theirs to become free. */
  const starved: Origin[] = [];

  function findOrigin(target: Target): Origin {
    let origin = origins.get(target.origin);
    if (origin === undefined) {
      origin = { target, tls: {}, idle: [], open: 0, waiting: [], waitingFrom: 0, isStarved: false };
      origins.set(target.origin, origin);
    }
    return origin;
  }

  function openSlot(origin: Origin): Slot {
    const { protocol, hostname, port } = origin.target;
    const client = createClient(origin.target.origin, (_, done) => {
      const socket = connect({ protocol, hostname, port, tls: origin.tls }, (error, connected) => {
        if (error !== null || connected === null) {
          done(error ?? new Error("not connected"), null);
          return;
        }
        slot.address = connected.remoteAddress;
        done(null, connected);
      });
      slot.socket = socket;
      slot.served = 0;
      slot.address = undefined;
      socket.once("close", () => {
        if (slot.socket === socket && idle.has(slot)) discard(slot);
      });
    });
    const slot: Slot = { client, origin, address: undefined, served: 0, socket: undefined, isOpen: true };
    open.add(slot);
    origin.open += 1;
    return slot;
  }

  function closeSlot(slot: Slot): void {
    if (!slot.isOpen) return;
    slot.isOpen = false;
    open.delete(slot);
    slot.origin.open -= 1;
    if (idle.delete(slot)) slot.origin.idle.splice(slot.origin.idle.indexOf(slot), 1);
    slot.client.destroy(null, () => {});
    // While it is still connecting, the client does not know the socket.
    slot.socket?.destroy();
  }

  function makeRoom(): boolean {
    if (open.size < max) return true;
    const [oldest] = idle;
    if (oldest === undefined) return false;
    closeSlot(oldest);
    forgetUnused(oldest.origin);
    return true;
  }

  function takeWaiter(origin: Origin): Waiter | undefined {
    while (origin.waitingFrom < origin.waiting.length) {
      const waiter = origin.waiting[origin.waitingFrom++];
      if (origin.waitingFrom === origin.waiting.length || origin.waitingFrom > MAX_SERVED_WAITERS) {
        origin.waiting = origin.waiting.slice(origin.waitingFrom);
        origin.waitingFrom = 0;
      }
      if (waiter?.isFinished === false) return waiter;
    }
    return undefined;
  }

  /** Opens what the origin's waiters need and may have. */
  function serve(origin: Origin): void {
    while (origin.open < perOrigin) {
      if (origin.waitingFrom === origin.waiting.length) break;
      if (!makeRoom()) {
        if (origin.open === 0 && !origin.isStarved) {
          origin.isStarved = true;
          starved.push(origin);
        }
        return;
      }
      const waiter = takeWaiter(origin);
      if (waiter !== undefined) waiter.start(openSlot(origin));
    }
    forgetUnused(origin);
  }

  function serveStarved(): void {
    while (starved.length > 0 && makeRoom()) {
      const origin = starved.shift() as Origin;
      origin.isStarved = false;
      const waiter = takeWaiter(origin);
      if (waiter !== undefined) waiter.start(openSlot(origin));
      else forgetUnused(origin);
    }
  }

  function forgetUnused(origin: Origin): void {
    const isUsed = origin.open > 0 || origin.waitingFrom < origin.waiting.length || origin.isStarved;
    if (!isUsed && origins.get(origin.target.origin) === origin) origins.delete(origin.target.origin);
  }

  function wait(origin: Origin, waiter: Waiter): void {
    origin.waiting.push(waiter);
    serve(origin);
  }

  function discard(connection: Connection): void {
    const slot = connection as Slot;
    if (!slot.isOpen) return;
    closeSlot(slot);
    serveStarved();
    serve(slot.origin);
  }

  return {
    acquire(target, waiter) {
      const origin = findOrigin(target);
      const slot = origin.idle.pop();
      if (slot === undefined) {
        wait(origin, waiter);
        return;
      }
      idle.delete(slot);
      waiter.start(slot);
    },
    acquireFresh(target, waiter) {
      const origin = findOrigin(target);
      const unused = origin.open >= perOrigin ? origin.idle[0] : undefined;
      if (unused !== undefined) closeSlot(unused);
      wait(origin, waiter);
    },
    release(connection) {
      const slot = connection as Slot;
      if (!slot.isOpen) return;
      slot.served += 1;
      if (slot.socket?.destroyed === true || (starved.length > 0 && open.size >= max)) {
        discard(slot);
        return;
      }
      const waiter = takeWaiter(slot.origin);
      if (waiter !== undefined) {
        waiter.start(slot);
        return;
      }
      slot.origin.idle.push(slot);
      idle.add(slot);
    },
    discard,
    get size() {
      return open.size;
    },
    close() {
      starved.length = 0;
      for (const slot of open) closeSlot(slot);
      origins.clear();
    },
  };
}
