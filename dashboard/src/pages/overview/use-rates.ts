import { useEffect, useRef, useState } from "react";
import type { Statistics } from "../../api/types.ts";

export interface Rates {
  in: number;
  out: number;
}

/** Per second, from what the counters have grown by since they were last asked for. */
export function useRates(statistics: Statistics | undefined, at: number): Rates | undefined {
  const before = useRef<{ at: number; events: number; attempts: number }>(undefined);
  const [rates, setRates] = useState<Rates>();
  useEffect(() => {
    if (statistics === undefined) return;
    const counted = { at, events: statistics.events.accepted, attempts: statistics.attempts.total };
    const last = before.current;
    before.current = counted;
    if (last === undefined) return setRates({ in: 0, out: 0 });
    const seconds = (counted.at - last.at) / 1000;
    if (seconds <= 0) return;
    const per = (now: number, then: number) => Math.max(0, now - then) / seconds;
    setRates({ in: per(counted.events, last.events), out: per(counted.attempts, last.attempts) });
  }, [statistics, at]);
  return rates;
}
