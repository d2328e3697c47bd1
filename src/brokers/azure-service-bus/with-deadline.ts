import type { Clock } from "../../domain/clock.ts";
import { BrokerFault } from "../broker-fault.ts";

/** For calls of packages that have no deadline, or a too long one. A later result is ignored. */
export async function withDeadline<Result>(call: Promise<Result>, withinMs: number, clock: Clock): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(clock.now() + withinMs, () => {
      reject(new BrokerFault("unreachable", `The broker has not answered within ${withinMs / 1000} seconds.`));
    });
    call.then(resolve, reject).finally(() => timer.cancel());
  });
}
