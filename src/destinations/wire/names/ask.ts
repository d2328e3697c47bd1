import { type LookupAddress, type RecordWithTtl, Resolver, lookup } from "node:dns";
import { networkInterfaces } from "node:os";
import { type Clock, createTurns, type Timer } from "../../../model/clock.ts";
import { codedError, LOOKUP_FAULT } from "../network-fault.ts";

/** Finds all addresses of a name through the system's DNS servers, without libuv's pool of four threads. */
export type AskServers = (name: string, done: (answer: Answer | Error) => void) => { cancel(): void };

export interface Answer {
  addresses: readonly LookupAddress[];
  ttlS: number;
}

interface AskServersOptions {
  clock: Clock;
  /** The full names that a short name may stand for, the likeliest first. */
  candidatesOf: (name: string) => readonly string[];
  /** For the whole lookup. */
  timeoutMs: number;
  /** Used instead of the system's servers, in the form of `Resolver.setServers`. */
  servers: readonly string[] | undefined;
}

type Family = 4 | 6;

const TRIES = 2;
/** When one address family has an answer, how long to wait for the other. */
const OTHER_FAMILY_MS = 1000;
const NO_SUCH_NAME: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA"]);

export function createAskServers({ clock, candidatesOf, timeoutMs, servers }: AskServersOptions): AskServers {
  /** One for each lookup: only so can it be cancelled alone, and changes of the system's servers take effect. */
  function openResolver(): Resolver {
    // The second try gets twice the time of the first.
    const resolver = new Resolver({ timeout: Math.floor(timeoutMs / (2 ** TRIES - 1)), tries: TRIES });
    if (servers !== undefined) resolver.setServers(servers);
    return resolver;
  }

  return (name, done) => {
    const [first = name, ...others] = candidatesOf(name);
    let resolver: Resolver | undefined;
    let isDone = false;
    let otherFamily: Timer | undefined;
    const deadline = clock.setTimer(clock.now() + timeoutMs, () =>
      finish(
        codedError(LOOKUP_FAULT, `the host name cannot be looked up: no DNS server answered within ${timeoutMs} ms`),
      ),
    );

    function finish(answer: Answer | Error): void {
      if (isDone) return;
      isDone = true;
      deadline.cancel();
      otherFamily?.cancel();
      resolver?.cancel();
      done(answer);
    }

    function ask(candidate: string): void {
      const asked = openResolver();
      resolver = asked;
      const found = new Map<Family, readonly RecordWithTtl[]>();
      const errors: NodeJS.ErrnoException[] = [];

      function take(family: Family, error: NodeJS.ErrnoException | null, records: readonly RecordWithTtl[]): void {
        if (isDone || resolver !== asked) return;
        if (error === null) found.set(family, records ?? []);
        else errors.push(error);
        const isWhole = found.size + errors.length === 2;
        const hasAddresses = [...found.values()].some(({ length }) => length > 0);
        if (!isWhole) {
          if (hasAddresses) otherFamily = clock.setTimer(clock.now() + OTHER_FAMILY_MS, () => finish(toAnswer(found)));
          return;
        }
        if (hasAddresses) return finish(toAnswer(found));
        const trouble = errors.find(({ code }) => !NO_SUCH_NAME.has(code ?? ""));
        const next = others.shift();
        if (trouble !== undefined) finish(describe(trouble, name, asked.getServers()));
        else if (next === undefined) finish(codedError("ENOTFOUND", `${name} has no address.`));
        else ask(next);
      }

      const options = { ttl: true } as const;
      try {
        asked.resolve4(candidate, options, (error, records) => take(4, error, records));
        asked.resolve6(candidate, options, (error, records) => take(6, error, records));
      } catch (error) {
        process.nextTick(finish, describe(error as Error, name, asked.getServers()));
      }
    }

    ask(first);
    return { cancel: () => finish(codedError("ECANCELLED", "the lookup was cancelled")) };
  };
}

function toAnswer(found: ReadonlyMap<Family, readonly RecordWithTtl[]>): Answer {
  const addresses: LookupAddress[] = [];
  let ttlS = Number.POSITIVE_INFINITY;
  for (const family of hasGlobalIpv6() ? ([6, 4] as const) : ([4, 6] as const)) {
    for (const { address, ttl } of found.get(family) ?? []) {
      addresses.push({ address, family });
      ttlS = Math.min(ttlS, ttl);
    }
  }
  return { addresses, ttlS };
}

/** If there is one, IPv6 addresses are tried first, as the C library does (RFC 6724). */
function hasGlobalIpv6(): boolean {
  return Object.values(networkInterfaces()).some((list) =>
    list?.some(({ family, internal, address }) => family === "IPv6" && !internal && !/^f[ecd]/i.test(address)),
  );
}

/** Says that the lookup failed: otherwise `ECONNREFUSED` would be taken for an error of the destination. */
function describe(error: NodeJS.ErrnoException, name: string, servers: readonly string[]): Error {
  const code = error.code ?? error.message;
  const asked = servers.length === 0 ? "none is configured" : servers.join(", ");
  switch (code) {
    case "ECONNREFUSED":
      return fault(`no DNS server can be reached (${asked})`);
    case "ETIMEOUT":
      return fault(`no DNS server answered in time (${asked})`);
    case "EBADNAME":
    case "EFORMERR":
      return fault(`${JSON.stringify(name)} is not a valid DNS name (${code})`);
    default:
      return fault(`the DNS servers failed (${code} from ${asked})`);
  }
}

function fault(reason: string): Error {
  return codedError(LOOKUP_FAULT, `the host name cannot be looked up: ${reason}`);
}

export type SystemLookup = (
  name: string,
  options: { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const TTL_S = 60;

/**
 * For names that no DNS server knows but perhaps the C library does: those of multicast DNS (`nas.local`). One lookup
 * at a time, because each holds one of libuv's four threads for an unlimited time, and file access needs these threads
 * too.
 */
export function createAskSystem(clock: Clock, timeoutMs: number, systemLookup: SystemLookup = lookup): AskServers {
  const inTurn = createTurns();

  return (name, done) => {
    let isDone = false;
    const deadline = clock.setTimer(clock.now() + timeoutMs, () =>
      finish(codedError(LOOKUP_FAULT, `the host name cannot be looked up: no answer within ${timeoutMs} ms`)),
    );

    function finish(answer: Answer | Error): void {
      if (isDone) return;
      isDone = true;
      deadline.cancel();
      done(answer);
    }

    async function run(): Promise<void> {
      if (isDone) return;
      await new Promise<void>((resolve) =>
        systemLookup(name, { all: true }, (error, addresses) => {
          resolve();
          finish(error ?? { addresses, ttlS: TTL_S });
        }),
      );
    }

    void inTurn(run);
    return { cancel: () => finish(codedError("ECANCELLED", "the lookup was cancelled")) };
  };
}
