import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { addressGroupOf } from "../model/addresses.ts";

/**
 * Limits open connections, in total and per address. When there is one too many, the longest idle connection is
 * closed: otherwise a client that opens many and sends nothing would lock out everybody else. If none is idle, a
 * connection whose request comes in too slowly is closed.
 */
export type ConnectionGate = ReturnType<typeof createConnectionGate>;

export interface ConnectionGateOptions {
  maxConnections: number;
  /** Does not apply to exempt addresses. */
  maxPerAddress: number;
  isExempt: (address: string) => boolean;
  onClosed: (why: ClosedWhy, address: string) => void;
  now: () => number;
}

/** `evicted`: an idle connection was closed. `refused`: the new one was, because none was idle. */
export type ClosedWhy = "evicted" | "refused" | "evicted_for_address" | "refused_for_address";

interface Connection {
  /** The socket that carries HTTP. With TLS this is not the accepted socket, once the handshake is done. */
  http: Socket;
  readonly address: string;
  /** Undefined when the address is exempt. */
  readonly group: string | undefined;
  /** A sequence number of requests and connections: a smaller number is longer ago. */
  lastUse: number;
  /** When the last request began, and how many bytes had been read by then. */
  requestAt: number;
  bytesBefore: number;
}

/** A request that is not complete after this time is slow if it came in at less than this rate. */
const SLOW_AFTER_MS = 5000;
const SLOW_BYTES_PER_MS = 1;

/** How many candidates for closing are kept after a search through all connections. */
const KEPT_CANDIDATES = 256;
/** When a search found no candidate, the next one waits for this long. */
const LOOK_AGAIN_MS = 100;

const CONNECTION = Symbol("connection");
type Known = Socket & { [CONNECTION]?: Connection };

export function createConnectionGate(options: ConnectionGateOptions) {
  const { maxConnections, maxPerAddress, isExempt, onClosed, now } = options;
  const open = new Set<Connection>();
  const groups = new Map<string, Set<Connection>>();
  /** The longest idle last. */
  let candidates: { connection: Connection; lastUse: number }[] = [];
  let lookAgainAt = 0;
  let uses = 0;

  function add(raw: Socket): Connection {
    const address = raw.remoteAddress ?? "";
    const group = isExempt(address) ? undefined : addressGroupOf(address);
    const connection = { http: raw, address, group, lastUse: ++uses, requestAt: 0, bytesBefore: 0 };
    (raw as Known)[CONNECTION] = connection;
    open.add(connection);
    if (group !== undefined) {
      const members = groups.get(group) ?? new Set();
      groups.set(group, members.add(connection));
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

  /** Searching all connections for each new one would make a flood of them costly. */
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
    /** Must be called before the server listens. */
    watch(server: Server): void {
      /** With TLS, to find the accepted socket for the one that carries HTTP. */
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
    /** Must be called for each request, so that the gate knows which connections are in use. */
    noteRequest(socket: Socket): void {
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

/** Idle connections first, then slow ones. */
function compareIdleness(a: Connection, b: Connection): number {
  return Number(isIdle(b)) - Number(isIdle(a)) || a.lastUse - b.lastUse;
}

function isIdle({ http }: Connection): boolean {
  return openResponseOf(http) === undefined;
}

/** The response that this connection waits for. Node has no public API for it, and uses this property itself. */
export function openResponseOf(socket: Socket): ServerResponse | undefined {
  return (socket as { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}
