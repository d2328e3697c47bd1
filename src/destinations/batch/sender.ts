import { PosthornError } from "../../model/errors.ts";
import { failedHere } from "../../model/outcome.ts";
import { keepOwnRecord } from "../own-record.ts";
import type { Attempt, AttemptRecordPart, AttemptReport, Sender } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { createFileBatches, NO_FOLDER } from "./file-batches.ts";
import { isInside } from "./inside.ts";
import { createPostedBatches, type RowFacts, type SentRow } from "./posted-batches.ts";
import { writeRow } from "./rows.ts";
import type { BatchDestination, BatchSettings } from "./settings.ts";
import type { RowResult } from "./split.ts";

const destinationOf = ({ subscription }: Pick<Attempt, "subscription">) => subscription.destination as BatchDestination;

export function openBatchSender(services: SenderServices): Sender<BatchSettings> {
  const { clock, batchDir } = services;
  const post = createPostedBatches(services);
  const files = createFileBatches(services);
  const underWay = new Set<() => void>();

  return {
    limitsOf(subscription) {
      const { maxRows, maxBytes, lingerMs } = destinationOf({ subscription });
      // One batch at a time, so that rows arrive in the order of their events.
      return { maxBatch: maxRows, maxBytes, lingerMs, maxInFlight: 1, keepsOrder: subscription.ordered };
    },
    send(attempts, done) {
      const [startedAt, startedNow] = [clock.wall(), clock.now()];
      const written = writeAll(attempts);
      const sent = written.filter((one) => typeof one !== "string");
      const end = (results: readonly RowResult<RowFacts>[]) => {
        if (!underWay.delete(abort)) return;
        const durationMs = Math.max(0, clock.now() - startedNow);
        let next = 0;
        done(
          written.map((one, i): AttemptReport => {
            const unwritten = { outcome: failedHere(String(one)), fact: { record: {} } };
            const { outcome, fact } = typeof one === "string" ? unwritten : (results[next++] ?? unwritten);
            return { outcome, startedAt, durationMs, record: toRecord(attempts[i] as Attempt, fact) };
          }),
        );
      };
      const abort = () =>
        end(sent.map(() => ({ outcome: failedHere("the gateway stopped"), fact: { record: {} } as RowFacts })));
      underWay.add(abort);
      const [first] = sent;
      if (first === undefined) setImmediate(end, []);
      else if ("path" in destinationOf(first.attempt).to) files.send(sent, end);
      else post(sent, end);
    },
    refuse({ url, path, allow_own_url: mayBeOwn, auth }) {
      if (path !== undefined) return refusePath(path, batchDir);
      services.checkUrl(url ?? "", "destination.url");
      const problem = mayBeOwn === true ? undefined : services.findOwnUrlProblem(url ?? "");
      if (problem !== undefined) throw refusal("destination.url", `the destination cannot be used: ${problem}`);
      if (auth?.token_url !== undefined) services.checkUrl(auth.token_url, "destination.auth.token_url");
    },
    close() {
      for (const abort of underWay) abort();
      return files.close();
    },
  };
}

/** In an ordered subscription nothing is sent behind a row that cannot be written. */
function writeAll(attempts: readonly Attempt[]): (SentRow | string)[] {
  const written = attempts.map(tryWrite);
  const bad = written.findIndex((one) => typeof one === "string");
  if (bad === -1 || attempts[0]?.subscription.ordered !== true) return written;
  return written.map((one, i) => (i > bad ? "a row before it could not be written" : one));
}

/** Returns a text when the row cannot be written; the others of its batch are sent without it. */
function tryWrite(attempt: Attempt): SentRow | string {
  try {
    return { attempt, row: writeRow(attempt, destinationOf(attempt).rows) };
  } catch (error) {
    return `the row could not be written: ${String(error)}`;
  }
}

function toRecord({ subscription }: Attempt, { status, address, said, record }: RowFacts): AttemptRecordPart {
  const responseBody = said === undefined ? undefined : Buffer.from(said, "utf8");
  return { ...keepOwnRecord(subscription.place, record), address, responseCode: status, responseBody };
}

function refusePath(path: string, batchDir: string | undefined): void {
  if (batchDir === undefined) throw refusal("destination.path", NO_FOLDER);
  if (path === batchDir || !isInside(path, batchDir)) {
    throw refusal("destination.path", `${path} is not inside ${batchDir}, the folder for batches (batch_dir)`);
  }
}

function refusal(field: string, message: string): PosthornError {
  return new PosthornError("invalid_field", `${field}: ${message}.`, { field });
}
