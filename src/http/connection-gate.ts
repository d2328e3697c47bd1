import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { groupOf } from "./client-address.ts";

/**
 * Bounds open connections, in all and from one address. Where one is too many, the one that has been idle for longest
 * makes room: else whoever opens enough of them and says nothing would lock everybody else out. Where none is idle, one
 * whose request comes in too slowly does.
 */
export interface ConnectionGate {
  /** Before the server listens. */
  watch(server: Server): void;
  /** For every request: which connections are in use is known by it. */
  noteRequest(socket: Socket): void;
}

export interface ConnectionGateOptions {
  maxConnections: number;
  /** Not for those that are exempt. */
  maxPerAddress: number;
  isExempt: (address: string) => boolean;
  onClosed: (why: ClosedWhy, address: string) => void;
  now: () => number;
}

/** An idle one made room, or a new one was turned away because none was idle. */
export type ClosedWhy = "evicted" | "refused" | "evicted_for_address" | "refused_for_address";

interface Connection {
  /** What HTTP is spoken on; behind TLS that is another than what was accepted, once hands are shaken. */
  http: Socket;
  readonly address: string;
  /** Undefined when its address is not counted. */
  readonly group: string | undefined;
  /** Numbers requests and connections: less is longer ago. */
  lastUse: number;
  /** When its last request began, and how much had come over it by then. */
  requestAt: number;
  bytesBefore: number;
}

/** A request that is not whole after this time should have come in at this rate at least. */
const SLOW_AFTER_MS = 5000;
const SLOW_BYTES_PER_MS = 1;

/** Of one look at all connections so many are kept in mind as the next to go. */
const KEPT_CANDIDATES = 256;
/** When a look has found none idle, the next is not before this. */
const LOOK_AGAIN_MS = 100;

const CONNECTION = Symbol("connection");
type Known = Socket & { [CONNECTION]?: Connection };

export function createConnectionGate(options: ConnectionGateOptions): ConnectionGate {
  const { maxConnections, maxPerAddress, isExempt, onClosed, now } = options;
  const open = new Set<Connection>();
  const groups = new Map<string, Set<Connection>>();
  /** The idlest last. */
  let candidates: { connection: Connection; lastUse: number }[] = [];
  let lookAgainAt = 0;
  let uses = 0;

  function add(raw: Socket): Connection {
    const address = raw.remoteAddress ?? "";
    const group = isExempt(address) ? undefined : groupOf(address);
    const connection = { http: raw, address, group, lastUse: ++uses, requestAt: 0, bytesBefore: 0 };
    (raw as Known)[CONNECTION] = connection;
    open.add(connection);
    if (group !== undefined) {
      const members = groups.get(group);
      if (members === undefined) groups.set(group, new Set([connection]));
      else members.add(connection);
    }
    return connection;
  }

  function remove(connection: Connection): void {
    const { group } = connection;
    if (!open.delete(connection) || group === undefined) return;
    const members = groups.get(group);
    members?.delete(connection);
    if (members?.size === 0) groups.delete(group);
  }

  function close(connection: Connection, why: ClosedWhy): void {
    remove(connection);
    connection.http.destroy();
    onClosed(why, connection.address);
  }

  function admit(connection: Connection): void {
    const members = connection.group === undefined ? undefined : groups.get(connection.group);
    if (members !== undefined && members.size > maxPerAddress) {
      const idlest = findIdlest(members, connection);
      if (idlest === undefined) return close(connection, "refused_for_address");
      close(idlest, "evicted_for_address");
    }
    if (open.size <= maxConnections) return;
    const idlest = nextCandidate(connection);
    if (idlest === undefined) close(connection, "refused");
    else close(idlest, "evicted");
  }

  function findIdlest(among: Iterable<Connection>, newcomer: Connection): Connection | undefined {
    let idlest: Connection | undefined;
    for (const one of among) {
      if (one === newcomer || !mayGo(one)) continue;
      if (idlest === undefined || compareIdleness(one, idlest) < 0) idlest = one;
    }
    return idlest;
  }

  function mayGo(one: Connection): boolean {
    return isIdle(one) || isSlow(one);
  }

  function isSlow({ http, requestAt, bytesBefore }: Connection): boolean {
    if (openResponseOf(http)?.req.complete !== false) return false;
    const forMs = now() - requestAt;
    return forMs >= SLOW_AFTER_MS && http.bytesRead - bytesBefore < forMs * SLOW_BYTES_PER_MS;
  }

  /** Looking at all for each newcomer would make a flood of them costly. */
  function nextCandidate(newcomer: Connection): Connection | undefined {
    for (;;) {
      const next = candidates.pop() ?? look(newcomer);
      if (next === undefined) return undefined;
      const { connection, lastUse } = next;
      if (open.has(connection) && connection.lastUse === lastUse && mayGo(connection)) return connection;
    }
  }

  function look(newcomer: Connection) {
    if (now() < lookAgainAt) return undefined;
    const idle = [...open].filter((one) => one !== newcomer && mayGo(one));
    if (idle.length === 0) {
      lookAgainAt = now() + LOOK_AGAIN_MS;
      return undefined;
    }
    candidates = idle
      .sort(compareIdleness)
      .slice(0, KEPT_CANDIDATES)
      .reverse()
      .map((connection) => ({ connection, lastUse: connection.lastUse }));
    return candidates.pop();
  }

  return {
    watch(server) {
      /** Behind TLS, to find what was accepted for what HTTP is spoken on. */
      const inHandshake = new Map<string, Connection>();
      const isTls = "setSecureContext" in server;
      server.on("connection", (raw: Socket) => {
        const connection = add(raw);
        const place = placeOf(raw);
        if (isTls) inHandshake.set(place, connection);
        raw.once("close", () => {
          remove(connection);
          if (isTls && inHandshake.get(place) === connection) inHandshake.delete(place);
        });
        admit(connection);
      });
      server.on("secureConnection", (secure: Socket) => {
        const connection = inHandshake.get(placeOf(secure));
        if (connection === undefined) return;
        connection.http = secure;
        (secure as Known)[CONNECTION] = connection;
      });
    },
    noteRequest(socket) {
      const connection = (socket as Known)[CONNECTION];
      if (connection === undefined) return;
      connection.lastUse = ++uses;
      connection.requestAt = now();
      connection.bytesBefore = socket.bytesRead;
    },
  };
}

function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Those that say nothing first, then those that say it slowly. */
function compareIdleness(a: Connection, b: Connection): number {
  return Number(isIdle(b)) - Number(isIdle(a)) || a.lastUse - b.lastUse;
}

function isIdle({ http }: Connection): boolean {
  return openResponseOf(http) === undefined;
}

/** The answer that this connection is waiting for; Node tells it to nobody, and takes the same look itself. */
export function openResponseOf(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}
