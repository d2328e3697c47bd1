import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { connect as connectTcp, isIP, type LookupFunction, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../domain/clock.ts";
import type { AddressGuard } from "./address-guard.ts";
import { findAddressProblem } from "./destination.ts";

/** Opens sockets to addresses that the guard allows, and to no others. */
export type GuardedConnect = (to: Peer, done: (error: Error | null, socket: Socket | null) => void) => Socket;

export interface Peer {
  protocol: string;
  hostname: string;
  port: number;
  /** Where the TLS session of the last connection is kept, so that the next handshake is short. */
  tls: { session?: Buffer };
}

/** Asks for all addresses of a name, as `dns.lookup` does with `all: true`. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardedConnectOptions {
  guard: AddressGuard;
  clock: Clock;
  timeoutMs: number;
  lookup?: Lookup | undefined;
  /** Certificates to trust instead of the usual ones. */
  ca?: string | undefined;
}

/** The code of errors that mean: the guard said no, and nothing was sent. */
export const BLOCKED = "POSTHORN_BLOCKED";
export const CONNECT_TIMEOUT = "POSTHORN_CONNECT_TIMEOUT";

/** With several addresses, how long each but the last has. */
const ADDRESS_TIMEOUT_MS = 1000;

export function createGuardedConnect(options: GuardedConnectOptions): GuardedConnect {
  const { guard, clock, timeoutMs, ca } = options;
  const lookup = shareLookups(options.lookup ?? systemLookup);

  /** One forbidden address spoils the answer: whoever mixes them in would only have to wait for a lucky try. */
  function guardedLookup(port: number): LookupFunction {
    return (hostname, { all }, done) => {
      lookup(hostname, (error, addresses) => {
        const [first] = addresses;
        if (error !== null || first === undefined) {
          done(error ?? codedError("ENOTFOUND", `${hostname} has no address.`), []);
          return;
        }
        const problem = findProblem(addresses, port);
        if (problem !== undefined) done(codedError(BLOCKED, `${hostname}: ${problem}`), []);
        else if (all === true) done(null, addresses);
        else done(null, first.address, first.family);
      });
    };
  }

  function findProblem(addresses: readonly LookupAddress[], port: number): string | undefined {
    for (const { address } of addresses) {
      const problem = findAddressProblem(address, port, guard);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  return (to, done) => {
    const { hostname: host, port, tls } = to;
    const target = {
      host,
      port,
      lookup: guardedLookup(port),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ADDRESS_TIMEOUT_MS,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
    };
    const isTls = to.protocol === "https:";
    const servername = isIP(host) > 0 ? "" : host;
    // Node does not look up literals, so that they must be judged before there is a socket.
    const literalProblem = servername === "" ? findAddressProblem(host, port, guard) : undefined;
    const socket =
      literalProblem !== undefined
        ? connectNowhere(codedError(BLOCKED, literalProblem))
        : isTls
          ? connectTls({
              ...target,
              servername,
              ALPNProtocols: ["http/1.1"],
              ...(ca === undefined ? {} : { ca }),
              ...(tls.session === undefined ? {} : { session: tls.session }),
            })
          : connectTcp(target);

    const timer = clock.setTimer(clock.now() + timeoutMs, () =>
      socket.destroy(codedError(CONNECT_TIMEOUT, `no connection within ${timeoutMs} ms`)),
    );
    let isDone = false;
    const finish = (error: Error | null): void => {
      if (isDone) return;
      isDone = true;
      timer.cancel();
      if (error === null) done(null, socket);
      else done(error, null);
    };
    socket.on("error", finish);
    socket.once("close", () => finish(codedError("ECONNRESET", "closed while connecting")));
    socket.once("connect", () => {
      const problem = findAddressProblem(socket.remoteAddress ?? "", port, guard);
      if (problem !== undefined) socket.destroy(codedError(BLOCKED, problem));
      else if (!isTls) finish(null);
    });
    if (isTls) {
      socket.once("secureConnect", () => finish(null));
      socket.on("session", (session: Buffer) => (tls.session = session));
    }
    return socket;
  };
}

function connectNowhere(error: Error): Socket {
  return new Socket().destroy(error);
}

function codedError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}

/** Many connections to one name start at the same moment; the DNS is asked once for all of them. */
function shareLookups(lookup: Lookup): (hostname: string, done: Parameters<Lookup>[2]) => void {
  const waiting = new Map<string, Parameters<Lookup>[2][]>();
  return (hostname, done) => {
    const others = waiting.get(hostname);
    if (others !== undefined) {
      others.push(done);
      return;
    }
    const all = [done];
    waiting.set(hostname, all);
    lookup(hostname, { all: true }, (error, addresses) => {
      waiting.delete(hostname);
      for (const answer of all) answer(error, addresses ?? []);
    });
  };
}
