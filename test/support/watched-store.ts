/** A store whose open calls are counted, so that a test knows when everything that was begun is done. */
import type { PosthornError } from "../../src/model/errors.ts";
import type { Store } from "../../src/store/store.ts";
import { PORTS, type Port } from "./with-port.ts";

export interface Life {
  state: "alive" | "lost" | "unanswered" | "dead";
  calls: { made: number; open: number };
  /** Hands over an answer of the store. */
  tell: (run: () => void) => void;
}

type Call = (...args: unknown[]) => unknown;

/** Counts what is open, and keeps answers from a process that has died. */
export function watchCalls(store: Store, life: Life): Store {
  function watch(call: Call): Call {
    return (...args) => {
      life.calls.made++;
      if (life.state === "dead" || life.state === "lost") return new Promise(() => undefined);
      life.calls.open++;
      const answered = (tell: () => void) => {
        life.calls.open--;
        life.tell(() => {
          life.calls.made++;
          if (life.state === "alive") tell();
        });
      };
      const done = args.at(-1);
      if (typeof done === "function") {
        return call(...args.slice(0, -1), (result: unknown) => {
          answered(() => (done as Call)(result));
        });
      }
      const answer = call(...args);
      if (!(answer instanceof Promise)) return void life.calls.open--;
      return new Promise((resolve, reject) => {
        answer.then(
          (value) => answered(() => resolve(value)),
          (error: PosthornError) => answered(() => reject(error)),
        );
      });
    };
  }
  const watchAll = (methods: object) =>
    Object.fromEntries(Object.entries(methods).map(([name, call]: [string, Call]) => [name, watch(call)]));
  const watched = Object.fromEntries(PORTS.map((port) => [port, watchAll(store[port])])) as unknown as Pick<
    Store,
    Port
  >;
  return { ...store, ...watched, close: watch(store.close) as Store["close"] };
}

/** Until nothing happens any more without the clock. */
export async function settleCalls(calls: () => Life["calls"]): Promise<void> {
  do await nextTurn();
  while (calls().open > 0);
  await nextTurn();
  if (calls().open > 0) await settleCalls(calls);
}

export const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));
