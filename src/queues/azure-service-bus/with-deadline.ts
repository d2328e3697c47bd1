import type { ServiceBusClient } from "@azure/service-bus";
import type { Clock } from "../../model/clock.ts";
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

/** The package's own, which it does not show. */
interface Connection {
  once(event: "disconnected", listener: (context: { error?: unknown }) => void): unknown;
}

/** Those who wait for an answer, by connection. */
const waiting = new WeakMap<Connection, Set<(error: unknown) => void>>();

/**
 * Rejects as soon as the connection is cut. The package itself would wait for an answer until its own time is over,
 * although none can come any more.
 */
export async function whileConnected<Result>(client: ServiceBusClient, call: Promise<Result>): Promise<Result> {
  const context = (client as unknown as { _connectionContext?: { connection?: Connection } })._connectionContext;
  if (context?.connection === undefined) return call;
  const rejections = rejectionsOf(context.connection);
  return new Promise((resolve, reject) => {
    rejections.add(reject);
    call.then(resolve, reject).finally(() => rejections.delete(reject));
  });
}

function rejectionsOf(connection: Connection): Set<(error: unknown) => void> {
  const known = waiting.get(connection);
  if (known !== undefined) return known;
  const rejections = new Set<(error: unknown) => void>();
  waiting.set(connection, rejections);
  connection.once("disconnected", ({ error }) => {
    waiting.delete(connection);
    const cut = error ?? Object.assign(new Error("The connection was cut."), { code: "ECONNRESET" });
    for (const reject of rejections) reject(cut);
  });
  return rejections;
}
