import { constants } from "node:crypto";
import type { LookupAddress } from "node:dns";
import { connect as connectTcp, isIP, type LookupFunction, type OnReadOpts, type Socket } from "node:net";
import {
  connect as connectTls,
  createSecureContext,
  type ConnectionOptions,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { isAllowedIp } from "../../model/addresses.ts";
import type { Clock } from "../../model/clock.ts";
import { type AddressGuard, findAddressProblem } from "./address-guard.ts";
import { BLOCKED, codedError, CONNECT_TIMEOUT, LOOKUP_FAULT, PROXY_FAULT } from "./network-fault.ts";
import type { ConnectionTerms } from "./connection-terms.ts";
import type { Asking, Lookup } from "./names/name-lookup.ts";
import { type EgressProxy, openTunnel } from "./proxy-tunnel.ts";

/** Opens sockets only to addresses that the guard allows. Calls `done` once, always asynchronously. */
export type GuardedConnect = (to: Peer, done: (error: Error | null, made: Connected | null) => void) => Connecting;

export interface Peer {
  protocol: string;
  hostname: string;
  port: number;
  /** The tenant of the connection: the lookup of the name counts for it. */
  owner: string;
  /** The subscription's requirements beyond the rules of the guard. */
  terms: ConnectionTerms | undefined;
  /** Keeps the TLS session of the last connection, so that the next handshake is short. */
  tls: { session?: Buffer };
  /** Gets received bytes in a buffer that is reused for the next read. */
  onRead: (bytes: Buffer) => void;
}

export interface Connected {
  socket: Socket;
  /** The destination's address, also when the socket leads to a proxy. */
  address: string;
}

export interface Connecting {
  /** Gives up, at any stage. */
  destroy(): void;
}

export interface GuardedConnectOptions {
  guard: AddressGuard;
  clock: Clock;
  timeoutMs: number;
  lookup: Lookup;
  /** Certificates to trust instead of the usual ones. */
  ca?: string | undefined;
  /** Gets the certificates of destinations. */
  certificates?: Pick<KnownCertificates, "record"> | undefined;
  /** When given, the only way out. Proxies in environment variables are ignored; the guard still checks the destination. */
  proxy?: EgressProxy | undefined;
}

/** With several addresses, the time for each of them except the last. */
const ADDRESS_TIMEOUT_MS = 1000;
const HTTPS_PORT = 443;
/** How many addresses of a name are tried when the proxy cannot reach the first. */
const MAX_TUNNEL_TRIES = 3;

/** Holds received bytes until `onRead` returns: a buffer for each read would be most of the allocations. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

function onread({ onRead }: Peer): OnReadOpts {
  const callback = (length: number) => {
    onRead(readBuffer.subarray(0, length));
    return true;
  };
  return { buffer: readBuffer, callback };
}

export function createGuardedConnect(options: GuardedConnectOptions): GuardedConnect {
  const { guard, clock, timeoutMs, lookup, ca, proxy } = options;
  let context: SecureContext | undefined;

  /** One forbidden address makes the whole answer invalid: an attacker could mix one in and wait for a lucky try. */
  function check(to: Peer, addresses: readonly LookupAddress[]): LookupAddress[] | Error {
    for (const { address } of addresses) {
      const problem = findAddressProblem(address, to.port, guard);
      if (problem !== undefined)
        return codedError(BLOCKED, isIP(to.hostname) > 0 ? problem : `${to.hostname}: ${problem}`);
    }
    const ranges = to.terms?.allowedIps;
    if (ranges === undefined) return [...addresses];
    // A destination may have addresses of both families while the list names only one: the others are not used.
    const allowed = addresses.filter(({ address }) => isAllowedIp(address, ranges));
    if (allowed.length > 0) return allowed;
    const found = addresses.map(({ address }) => address).join(", ");
    return codedError(BLOCKED, `${to.hostname} leads to ${found}, which is not in allowed_ips of the subscription.`);
  }

  /** Cached addresses are checked again each time. */
  function resolve(to: Peer, done: (error: Error | null, addresses: LookupAddress[]) => void): Asking | void {
    return lookup(to.hostname, to.owner, (error, addresses) => {
      if (error !== null || addresses.length === 0) {
        return done(error ?? codedError("ENOTFOUND", `${to.hostname} has no address.`), []);
      }
      const checked = check(to, addresses);
      if (checked instanceof Error) done(checked, []);
      else done(null, checked);
    });
  }

  /** Shared by all connections without terms of their own: creating it takes longer than connecting. */
  function usualContext(): SecureContext {
    return (context ??= createSecureContext({
      // Otherwise a destination could ask for one handshake after another during the whole attempt.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
      ...(ca === undefined ? {} : { ca }),
    }));
  }

  function tlsOptions(to: Peer): ConnectionOptions {
    return {
      host: to.hostname,
      servername: isIP(to.hostname) > 0 ? "" : to.hostname,
      ALPNProtocols: ["http/1.1"],
      secureContext: to.terms?.secureContext() ?? usualContext(),
      ...(to.tls.session === undefined ? {} : { session: to.tls.session }),
    };
  }

  return (to, done) => {
    const { hostname: host, port } = to;
    const isTls = to.protocol === "https:";
    let current: Socket | undefined;
    let isDone = false;
    let waitsForProxy = false;
    let asking: Asking | void;
    let isLookingUp = false;
    const timer = clock.setTimer(clock.now() + timeoutMs, () => {
      if (isLookingUp) fail(codedError(LOOKUP_FAULT, `the host name was not looked up within ${timeoutMs} ms`));
      else if (waitsForProxy)
        fail(codedError(PROXY_FAULT, `egress proxy: no connection through it within ${timeoutMs} ms`));
      else fail(codedError(CONNECT_TIMEOUT, `no connection within ${timeoutMs} ms`));
    });

    function fail(error: Error): void {
      if (isDone) return;
      isDone = true;
      timer.cancel();
      asking?.cancel();
      current?.destroy();
      done(error, null);
    }

    function succeed(socket: Socket, address: string): void {
      if (isDone) return;
      isDone = true;
      timer.cancel();
      done(null, { socket, address });
    }

    function watch(socket: Socket): void {
      current = socket;
      socket.on("error", fail);
      socket.once("close", () => fail(codedError("ECONNRESET", "closed while connecting")));
    }

    function secure(socket: TLSSocket, addressOf: () => string): void {
      socket.once("secureConnect", () => {
        options.certificates?.record(hostOf(to), socket);
        succeed(socket, addressOf());
      });
      socket.on("session", (session: Buffer) => (to.tls.session = session));
    }

    function lookUp(found: (error: Error | null, addresses: LookupAddress[]) => void): void {
      isLookingUp = true;
      asking = resolve(to, (error, addresses) => {
        isLookingUp = false;
        found(error, addresses);
      });
    }

    function connectDirectly(): void {
      const target = {
        host,
        port,
        lookup: toSocketLookup(lookUp),
        autoSelectFamily: true,
        autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: 60_000,
        onread: onread(to),
      };
      const secured = isTls ? connectTls({ ...target, ...tlsOptions(to) }) : undefined;
      const socket = secured ?? connectTcp(target);
      const addressOf = () => socket.remoteAddress ?? "";
      watch(socket);
      socket.once("connect", () => {
        // The connection was reset already: it has no address any more, so there is nothing to check.
        if (socket.remoteAddress === undefined) return fail(codedError("ECONNRESET", "closed while connecting"));
        const checked = check(to, [{ address: addressOf(), family: 0 }]);
        if (checked instanceof Error) fail(checked);
        else if (!isTls) succeed(socket, addressOf());
      });
      if (secured !== undefined) secure(secured, addressOf);
    }

    function connectThrough(through: EgressProxy, addresses: readonly LookupAddress[]): void {
      const [first, ...others] = addresses;
      if (isDone || first === undefined) return;
      const { address } = first;
      waitsForProxy = true;
      const proxyLookup = toSocketLookup(
        (found) => void lookup(through.host, "", (error, all) => found(error, [...all])),
      );
      const tunnel = openTunnel(through, { address, port, lookup: proxyLookup }, (error) => {
        if (isDone) return;
        if (error !== null) {
          if (others.length === 0) fail(error);
          else connectThrough(through, others);
          return;
        }
        waitsForProxy = false;
        watch(tunnel);
        if (!isTls) {
          succeed(tunnel, address);
          tunnel.on("data", to.onRead);
          return;
        }
        const socket = connectTls({ socket: tunnel, ...tlsOptions(to) });
        watch(socket);
        socket.on("data", to.onRead);
        secure(socket, () => address);
      });
      current = tunnel;
    }

    // Node does not look up IP literals, so they must be checked before the socket is created.
    const literal = isIP(host) > 0 ? [{ address: host, family: isIP(host) }] : undefined;
    const checked = literal === undefined ? undefined : check(to, literal);
    if (checked instanceof Error) setImmediate(fail, checked);
    else if (proxy === undefined) connectDirectly();
    else if (checked !== undefined) connectThrough(proxy, checked);
    else {
      lookUp((error, addresses) => {
        if (error === null) connectThrough(proxy, addresses.slice(0, MAX_TUNNEL_TRIES));
        else fail(error);
      });
    }
    return {
      destroy() {
        current?.destroy();
        if (!isDone) setImmediate(fail, codedError("ECONNRESET", "closed while connecting"));
      },
    };
  };
}

/** The host as a URL contains it. */
function hostOf({ hostname, port }: Peer): string {
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  return port === HTTPS_PORT ? host : `${host}:${port}`;
}

/** The lookup in the form that sockets need: they ask once, for all addresses or for one. */
function toSocketLookup(
  lookUp: (found: (error: Error | null, addresses: LookupAddress[]) => void) => void,
): LookupFunction {
  return (_, { all }, done) =>
    lookUp((error, addresses) => {
      const [first] = addresses;
      if (error !== null || first === undefined) done(error ?? codedError("ENOTFOUND", "no address"), []);
      else if (all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
}

/** A certificate rarely changes, and reading it takes longer than sending a request. */
const LOOK_AGAIN_MS = 600_000;
const MAX_HOSTS = 10_000;

export type KnownCertificates = ReturnType<typeof createKnownCertificates>;

/** When the certificates of destinations expire. Only known for destinations connected to since the start. */
export function createKnownCertificates(clock: Pick<Clock, "now">) {
  const known = new Map<string, { at: number; notAfter: number }>();

  return {
    record(host: string, socket: Pick<TLSSocket, "getPeerCertificate">): void {
      const now = clock.now();
      const before = known.get(host);
      if (before !== undefined && now < before.at + LOOK_AGAIN_MS) return;
      const notAfter = Date.parse(socket.getPeerCertificate().valid_to);
      if (Number.isNaN(notAfter)) return;
      // The least recently updated entry goes first.
      known.delete(host);
      if (known.size >= MAX_HOSTS) known.delete(known.keys().next().value as string);
      known.set(host, { at: now, notAfter });
    },
    list: (): readonly { host: string; notAfter: number }[] =>
      [...known].map(([host, { notAfter }]) => ({ host, notAfter })),
  };
}
