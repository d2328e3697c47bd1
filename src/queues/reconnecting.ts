import type { Clock, Random, Timer } from "../model/clock.ts";
import type { ConnectionState } from "./broker.ts";
import { type BrokerFault, closedFault } from "./broker-fault.ts";

/** What every connection is opened with. */
export interface LinkOptions {
  clock: Clock;
  random: Pick<Random, "next">;
  /** Called whenever the state changes. */
  onState?: ((state: ConnectionState) => void) | undefined;
}

/** A taker or a publisher of a connection. */
interface Part {
  close(): Promise<void>;
}

interface ReconnectingOptions<Handle> extends LinkOptions {
  /** `isProven`: a handle that could be opened works. */
  open(): Promise<{ handle: Handle; isProven: boolean }>;
  shut(handle: Handle): Promise<void>;
  toFault(error: unknown): BrokerFault;
  /** Closes a part together with the connection. */
  closePart?(part: Part): Promise<void>;
}

export type Reconnecting<Handle> = ReturnType<typeof createReconnecting<Handle>>;

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;

/** Doubles with each try. Half of it is random, so that many gateways do not come back at the same moment. */
export function backoffMs(tries: number, random: Pick<Random, "next">): number {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(tries, 20));
  return longest / 2 + (random.next() * longest) / 2;
}

/** A handle that is opened at first use, and opened again after growing waits whenever it is lost. */
export function createReconnecting<Handle>(options: ReconnectingOptions<Handle>) {
  const { clock, random, toFault, closePart = (part: Part) => part.close() } = options;
  let state: ConnectionState = { state: "unused" };
  let current: Handle | undefined;
  let opening: Promise<Handle> | undefined;
  let tries = 0;
  let timer: Timer | undefined;
  let isClosed = false;
  const parts = new Set<Part>();
  const shutting = new Set<Promise<void>>();
  const waiting = new Set<{ resolve(handle: Handle): void; reject(fault: BrokerFault): void }>();

  function become(next: ConnectionState): void {
    state = next;
    options.onState?.(next);
  }

  function fail(fault: BrokerFault): void {
    const retryAt = clock.now() + backoffMs(tries++, random);
    become({ state: "failed", fault, retryAt });
    timer = clock.setTimer(retryAt, () => void openNow().catch(() => undefined));
  }

  function openNow(): Promise<Handle> {
    opening ??= tryOpen().finally(() => (opening = undefined));
    return opening;
  }

  async function tryOpen(): Promise<Handle> {
    if (state.state === "unused") become({ state: "connecting" });
    try {
      const { handle, isProven } = await options.open();
      if (isClosed) {
        await options.shut(handle);
        throw closedFault();
      }
      current = handle;
      if (isProven) prove(handle);
      for (const { resolve } of waiting) resolve(handle);
      waiting.clear();
      return handle;
    } catch (error) {
      const fault = toFault(error);
      if (!isClosed) fail(fault);
      throw fault;
    }
  }

  /** The handle works: for handles that only seem open until they are used. */
  function prove(handle: Handle): void {
    if (handle !== current) return;
    tries = 0;
    if (state.state !== "connected") become({ state: "connected" });
  }

  /** The handle no longer works. Only the first report about a handle counts. */
  function lose(handle: Handle, fault: BrokerFault): void {
    if (handle !== current || isClosed) return;
    current = undefined;
    fail(fault);
    const shut = options
      .shut(handle)
      .catch(() => undefined)
      .finally(() => shutting.delete(shut));
    shutting.add(shut);
  }

  /** If the error concerns the connection, the handle counts as lost; otherwise it works. */
  function recordFault(handle: Handle, error: unknown): BrokerFault {
    const fault = toFault(error);
    if (fault.isOfConnection) lose(handle, fault);
    else prove(handle);
    return fault;
  }

  /** The open handle. Rejects with the fault while there is none. */
  async function get(): Promise<Handle> {
    if (isClosed) throw closedFault();
    if (current !== undefined) return current;
    if (state.state === "failed") throw state.fault;
    return openNow();
  }

  return {
    state: (): ConnectionState => state,
    get,
    /** The open handle, however long that takes. Rejects when this is closed. */
    async whenOpen(): Promise<Handle> {
      if (isClosed) throw closedFault();
      if (current !== undefined) return current;
      const opened = new Promise<Handle>((resolve, reject) => waiting.add({ resolve, reject }));
      if (state.state !== "failed") void openNow().catch(() => undefined);
      return opened;
    },
    prove,
    lose,
    recordFault,
    /** Makes one call, whose result shows whether the handle works. Rejects with a fault. */
    async use<Result>(act: (handle: Handle) => Promise<Result>, opened = get()): Promise<Result> {
      const handle = await opened;
      try {
        const result = await act(handle);
        prove(handle);
        return result;
      } catch (error) {
        throw recordFault(handle, error);
      }
    },
    /** The part is closed before the connection is. */
    keep<Kept extends Part>(part: Kept): Kept {
      parts.add(part);
      return {
        ...part,
        async close() {
          parts.delete(part);
          await part.close();
        },
      };
    },
    async close(): Promise<void> {
      await Promise.all([...parts].map(closePart));
      isClosed = true;
      timer?.cancel();
      for (const { reject } of waiting) reject(closedFault());
      waiting.clear();
      await opening?.catch(() => undefined);
      if (current !== undefined) await options.shut(current).catch(() => undefined);
      current = undefined;
      await Promise.all(shutting);
    },
  };
}
