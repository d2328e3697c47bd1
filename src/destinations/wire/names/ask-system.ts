import { type LookupAddress, lookup } from "node:dns";
import type { Clock } from "../../../model/clock.ts";
import { codedError, LOOKUP_FAULT } from "../network-fault.ts";
import type { Answer, AskServers } from "./ask-servers.ts";

export interface AskSystemOptions {
  clock: Clock;
  timeoutMs: number;
  /** For tests: replaces the C library. */
  systemLookup?: SystemLookup | undefined;
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
export function createAskSystem({ clock, timeoutMs, systemLookup = lookup }: AskSystemOptions): AskServers {
  const waiting: (() => void)[] = [];
  let isBusy = false;

  function runNext(): void {
    const next = isBusy ? undefined : waiting.shift();
    if (next === undefined) return;
    isBusy = true;
    next();
  }

  return (name, done) => {
    let isDone = false;
    const deadline = clock.setTimer(clock.now() + timeoutMs, () =>
      finish(codedError(LOOKUP_FAULT, `the host name cannot be looked up: no answer within ${timeoutMs} ms`)),
    );

    function finish(answer: Answer | Error): void {
      if (isDone) return;
      isDone = true;
      deadline.cancel();
      const at = waiting.indexOf(run);
      if (at >= 0) waiting.splice(at, 1);
      done(answer);
    }

    function run(): void {
      systemLookup(name, { all: true }, (error, addresses) => {
        isBusy = false;
        finish(error ?? { addresses, ttlS: TTL_S });
        runNext();
      });
    }

    waiting.push(run);
    runNext();
    return { cancel: () => finish(codedError("ECANCELLED", "the lookup was cancelled")) };
  };
}
