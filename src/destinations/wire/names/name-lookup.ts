import type { LookupAddress } from "node:dns";
import type { Clock } from "../../../model/clock.ts";
import { codedError, LOOKUP_FAULT } from "../network-fault.ts";
import { createWaitingLine, type Waiting } from "../waiting-line.ts";
import { type Answer, type AskServers, createAskServers, createAskSystem, type SystemLookup } from "./ask.ts";
import { createHostsFile, createSearchDomains, HOSTS_FILE, RESOLVER_FILE } from "./system-files.ts";

/** Looks up all addresses of a name for a tenant. Calls `done` once, asynchronously, unless it is cancelled. */
export type Lookup = (hostname: string, owner: string, done: LookupDone) => Asking | void;

export type LookupDone = (error: Error | null, addresses: readonly LookupAddress[]) => void;

export interface Asking {
  /** The answer is no longer needed. */
  cancel(): void;
}

export interface NameLookupOptions {
  clock: Clock;
  hostsFile?: string | undefined;
  resolverFile?: string | undefined;
  /** DNS servers to use instead of the system's. */
  servers?: readonly string[] | undefined;
  timeoutMs?: number;
  /** For tests: replaces the C library. */
  systemLookup?: SystemLookup | undefined;
  limits?: Partial<typeof LIMITS> | undefined;
}

/** Maximum numbers of running lookups and of known names. Further lookups wait, and tenants take turns. */
const LIMITS = { running: 128, runningPerOwner: 8, names: 10_000 };
/** Less than the time for connecting. */
const TIMEOUT_MS = 4000;
const MIN_TTL_S = 1;
/** Older answers are requested again: a destination that moves must be found again soon. */
const MAX_TTL_S = 60;
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 60_000;
/** Failures longer ago than this do not count. */
const FORGET_FAILURES_MS = 600_000;

interface Known {
  addresses: readonly LookupAddress[];
  /** The lookup failed: it is repeated after a wait that grows. */
  error: Error | undefined;
  until: number;
  failures: number;
}

interface Search {
  readonly name: string;
  readonly waiters: Set<LookupDone>;
  /** Tenants in whose waiting line the search is. */
  readonly owners: Set<string>;
  isRunning: boolean;
}

/** A search in the waiting line of a tenant. */
interface Turn extends Waiting {
  readonly search: Search;
}

export type NameLookup = ReturnType<typeof openNameLookup>;

/** Users choose the names of destinations: the servers that answer for them may be slow, dead or hostile. */
export function openNameLookup(options: NameLookupOptions) {
  const { clock, hostsFile = HOSTS_FILE, resolverFile = RESOLVER_FILE, timeoutMs = TIMEOUT_MS, servers } = options;
  const limits = { ...LIMITS, ...options.limits };
  const findOnMachine = createHostsFile(hostsFile, clock);
  const askServers = createAskServers({
    clock,
    candidatesOf: createSearchDomains(resolverFile, clock),
    timeoutMs,
    servers,
  });
  const askSystem = createAskSystem(clock, timeoutMs, options.systemLookup);
  const ask: AskServers = (name, done) => (name.endsWith(".local") ? askSystem : askServers)(name, done);
  /** Least recently updated first. */
  const known = new Map<string, Known>();
  const searches = new Map<string, Search>();
  const line = createWaitingLine<Turn>();
  const running = new Map<Search, { cancel(): void }>();
  const runningOf = new Map<string, number>();
  let isClosed = false;

  const mayRun = (owner: string) => (runningOf.get(owner) ?? 0) < limits.runningPerOwner;

  function startNext(): void {
    while (running.size < limits.running) {
      const turn = isClosed ? undefined : line.take(mayRun);
      if (turn === undefined) return;
      start(turn.search, turn.owner);
    }
  }

  /** Continues when nobody waits any more: so a slow name need not be looked up again and again. */
  function start(search: Search, owner: string): void {
    search.isRunning = true;
    runningOf.set(owner, (runningOf.get(owner) ?? 0) + 1);
    const asked = ask(search.name, (answer) => {
      running.delete(search);
      searches.delete(search.name);
      const left = (runningOf.get(owner) ?? 0) - 1;
      if (left > 0) runningOf.set(owner, left);
      else runningOf.delete(owner);
      if (!isClosed) learn(search.name, answer);
      for (const done of search.waiters) notify(done, answer);
      startNext();
    });
    running.set(search, asked);
  }

  function learn(name: string, answer: Answer | Error): void {
    const now = clock.now();
    const before = known.get(name);
    known.delete(name);
    if (known.size >= limits.names) known.delete(known.keys().next().value as string);
    if (!(answer instanceof Error)) {
      const ttlS = Math.min(Math.max(answer.ttlS, MIN_TTL_S), MAX_TTL_S);
      known.set(name, { addresses: answer.addresses, error: undefined, until: now + ttlS * 1000, failures: 0 });
      return;
    }
    const isNew = before === undefined || now - before.until > FORGET_FAILURES_MS;
    const failures = isNew ? 1 : before.failures + 1;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), MAX_WAIT_MS);
    known.set(name, { addresses: [], error: answer, until: now + waitMs, failures });
  }

  function join(name: string, owner: string, done: LookupDone): Asking {
    let search = searches.get(name);
    if (search === undefined) {
      searches.set(name, (search = { name, waiters: new Set(), owners: new Set(), isRunning: false }));
    }
    const joined = search;
    joined.waiters.add(done);
    if (!joined.isRunning && !joined.owners.has(owner)) {
      joined.owners.add(owner);
      line.push({
        owner,
        search: joined,
        get isFinished() {
          return joined.isRunning || joined.waiters.size === 0;
        },
      });
      startNext();
    }
    return {
      cancel() {
        joined.waiters.delete(done);
        if (joined.waiters.size === 0 && !joined.isRunning && searches.get(name) === joined) searches.delete(name);
      },
    };
  }

  return {
    lookup(hostname: string, owner: string, done: LookupDone): Asking {
      const name = hostname.toLowerCase();
      const onMachine = isClosed ? undefined : findOnMachine(name);
      const before = known.get(name);
      let isCancelled = false;
      const later = (error: Error | null, addresses: readonly LookupAddress[]) => {
        process.nextTick(() => {
          if (!isCancelled) done(error, addresses);
        });
        return { cancel: () => void (isCancelled = true) };
      };
      if (onMachine !== undefined) return later(null, onMachine);
      if (isClosed) return later(codedError(LOOKUP_FAULT, "the gateway stopped"), []);
      if (before !== undefined && clock.now() < before.until) return later(before.error ?? null, before.addresses);
      // A callback of its own for each request: one may be cancelled while the others wait.
      return join(name, owner, (error, addresses) => done(error, addresses));
    },
    /** Stops all lookups; their callers get an error. */
    close(): void {
      isClosed = true;
      for (const asked of running.values()) asked.cancel();
      for (const search of searches.values()) {
        for (const done of search.waiters) notify(done, codedError(LOOKUP_FAULT, "the gateway stopped"));
      }
      searches.clear();
    },
  };
}

function notify(done: LookupDone, answer: Answer | Error): void {
  if (answer instanceof Error) done(answer, []);
  else done(null, answer.addresses);
}
