/** A kind of destination that takes batches: a queue that lives in the test. */
import { Type, type Static } from "typebox";
import { keepOwnRecord, presentOwnRecord } from "../../src/destinations/own-record.ts";
import { secretSettings } from "../../src/destinations/secret-settings.ts";
import type { Attempt, AttemptReport } from "../../src/destinations/sender.ts";
import type { KindWithSender } from "../../src/destinations/senders.ts";
import { DELIVERED, failed, failedHere, refused, type Outcome } from "../../src/model/outcome.ts";

const BatchingSettings = Type.Object(
  {
    queue: Type.String({ pattern: "^[a-z-]{1,32}$" }),
    token: Type.Optional(Type.String({ minLength: 1 })),
    max_batch: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    linger_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
  },
  { additionalProperties: false },
);
type BatchingSettings = Static<typeof BatchingSettings>;

/** What the test sees of it, and what it makes it do. */
export interface BatchingQueue {
  /** Ids of events, batch by batch, as they arrived. */
  readonly batches: readonly (readonly string[])[];
  readonly tokens: readonly (string | undefined)[];
  /** What becomes of an event; taken, when it returns nothing. */
  answer: (eventId: string) => Outcome | undefined;
  /** Nothing is answered before it is released. */
  hold(): () => void;
}

const BAD_TOKEN = "wrong";

export function createBatchingKind(name = "batching"): { kind: KindWithSender; queue: BatchingQueue } {
  const batches: string[][] = [];
  const tokens: (string | undefined)[] = [];
  const waiting = new Set<() => void>();
  let isHeld = false;
  const queue: BatchingQueue = {
    batches,
    tokens,
    answer: () => undefined,
    hold() {
      isHeld = true;
      return () => {
        isHeld = false;
        for (const release of waiting) release();
        waiting.clear();
      };
    },
  };
  const settingsOf = ({ subscription }: Attempt) => subscription.destination as BatchingSettings;

  const kind: KindWithSender<BatchingSettings> = {
    name,
    settings: BatchingSettings,
    check: ({ token }) => (token === BAD_TOKEN ? [{ field: "token", message: "is one that the queue refuses" }] : []),
    prepare: (settings) => ({ destination: settings, place: `batching:${settings.queue}` }),
    secrets: secretSettings<BatchingSettings>(["token"], ["queue"]),
    present: ({ token, ...settings }) => ({ ...settings, ...(token !== undefined && { token: "***" }) }),
    presentRecord: presentOwnRecord,
    open({ clock }) {
      const open = new Set<(error: string) => void>();
      return {
        limitsOf({ destination }) {
          const { max_batch: maxBatch = 10, linger_ms: lingerMs = 0 } = destination as BatchingSettings;
          return { maxBatch, lingerMs };
        },
        send(attempts, done) {
          const startedAt = clock.wall();
          const startedNow = clock.now();
          const [first] = attempts as [Attempt];
          const { token } = settingsOf(first);
          const end = (toOutcome: (attempt: Attempt) => Outcome) => {
            if (!open.delete(abort)) return;
            deadline.cancel();
            waiting.delete(deliver);
            const durationMs = clock.now() - startedNow;
            done(
              attempts.map((attempt): AttemptReport => {
                const facts = { batch: batches.length, size: attempts.length };
                const record = keepOwnRecord(attempt.subscription.place, facts);
                return { outcome: toOutcome(attempt), startedAt, durationMs, record };
              }),
            );
          };
          const abort = (error: string) => end(() => failedHere(error));
          const deliver = () => {
            batches.push(attempts.map(({ event }) => event.id));
            tokens.push(token);
            end(({ event }) => queue.answer(event.id) ?? DELIVERED);
          };
          open.add(abort);
          const { timeoutMs } = first.subscription;
          const late = () => end(() => failed(`nothing within ${timeoutMs} ms`, { result: "timeout" }));
          const deadline = clock.setTimer(clock.now() + timeoutMs, late);
          if (isHeld) waiting.add(deliver);
          else setImmediate(deliver);
        },
        async close() {
          for (const abort of open) abort("the gateway stopped");
        },
      };
    },
  };
  return { kind, queue };
}

export const refusedByQueue = (why: string): Outcome => refused(why);
export const queueIsFull = (): Outcome => failed("the queue is full", { says: "limited", retryAfterMs: 5000 });
