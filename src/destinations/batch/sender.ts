import { PosthornError } from "../../model/errors.ts";
import { DELIVERED, failed, failedHere, type KindRecord, type Outcome } from "../../model/outcome.ts";
import type { Subscription } from "../../model/subscription.ts";
import { createAttemptFrame, type AttemptRun } from "../attempt-frame.ts";
import { checkPlaces } from "../login.ts";
import { keepOwnRecord } from "../own-record.ts";
import type { Attempt, Sender, SenderServices } from "../sender.ts";
import { createPostedBatches, type RowFacts, type SentRow } from "./posted-batches.ts";
import { createRotatingFile, isInside, type RotatingFile } from "./rotating-file.ts";
import { writeRow } from "./rows.ts";
import type { BatchDestination, BatchSettings, FileTo } from "./settings.ts";

const NO_FOLDER = "this gateway has no folder for batches; set batch_dir (POSTHORN_BATCH_DIR)";

const destinationOf = ({ destination }: Subscription) => destination as BatchDestination;

export function openBatchSender(services: SenderServices, createFile = createRotatingFile): Sender<BatchSettings> {
  const { clock, batchDir } = services;
  const frame = createAttemptFrame({
    clock,
    lateOf: ({ subscription }) => ("path" in destinationOf(subscription).to ? "it was not on disk" : undefined),
  });
  const post = createPostedBatches(services);
  const files = new Map<string, RotatingFile>();

  function fileOf(path: string, root: string): RotatingFile {
    let file = files.get(path);
    if (file === undefined) files.set(path, (file = createFile(path, root, clock)));
    return file;
  }

  /** Appends a batch to a file, as one write and one fsync. */
  function append(runs: readonly AttemptRun[], rows: readonly SentRow[], { place }: Subscription, to: FileTo): void {
    const bytes = Buffer.concat(rows.map(({ row }) => row));
    for (const run of runs) run.record = keepOwnRecord(place, { rows: rows.length, bytes: bytes.length });
    const end = (outcome: Outcome) => {
      for (const run of runs) run.end(outcome);
    };
    if (batchDir === undefined) return end(failedHere(NO_FOLDER));
    fileOf(to.path, batchDir)
      .append(bytes, to)
      .then(
        () => end(DELIVERED),
        (error: unknown) =>
          end(failed(`it could not be written: ${error instanceof Error ? error.message : String(error)}`)),
      );
  }

  return {
    limitsOf(subscription) {
      const { maxRows, maxBytes, lingerMs } = destinationOf(subscription);
      // One batch at a time, so that rows arrive in the order of their events.
      return { maxBatch: maxRows, maxBytes, lingerMs, maxInFlight: 1, keepsOrder: subscription.ordered };
    },
    send(attempts, done) {
      const runs = frame.begin(attempts, done);
      const sent: AttemptRun[] = [];
      const rows: SentRow[] = [];
      writeAll(runs).forEach((row, i) => {
        const run = runs[i] as AttemptRun;
        if (typeof row === "string") return run.end(failedHere(row));
        sent.push(run);
        rows.push({ attempt: run.attempt, row });
      });
      const [first] = sent;
      if (first === undefined) return;
      const { subscription } = first.attempt;
      const { to } = destinationOf(subscription);
      if ("path" in to) return append(sent, rows, subscription, to);
      post(rows, (results) =>
        results.forEach(({ outcome, fact }, i) => sent[i]?.end(outcome, toRecord(subscription, fact))),
      );
    },
    rules: {
      check(settings) {
        if (settings.path === undefined) checkPlaces(services, "destination.", settings.url ?? "", settings);
        else checkPath(settings.path, batchDir);
      },
    },
    async close() {
      frame.close();
      // Until everything that was being written is on disk.
      await Promise.all([...files.values()].map((file) => file.close()));
      files.clear();
    },
  };
}

/** In an ordered subscription nothing is sent behind a row that cannot be written. */
function writeAll(runs: readonly AttemptRun[]): (Buffer | string)[] {
  const written = runs.map(({ attempt }) => tryWrite(attempt));
  const bad = written.findIndex((one) => typeof one === "string");
  if (bad === -1 || runs[0]?.attempt.subscription.ordered !== true) return written;
  return written.map((one, i) => (i > bad ? "a row before it could not be written" : one));
}

/** Returns a text when the row cannot be written; the others of its batch are sent without it. */
function tryWrite(attempt: Attempt): Buffer | string {
  try {
    return writeRow(attempt, destinationOf(attempt.subscription).rows);
  } catch (error) {
    return `the row could not be written: ${String(error)}`;
  }
}

function toRecord({ place }: Subscription, { status, address, said, record }: RowFacts): KindRecord {
  const answer = said === undefined ? undefined : Buffer.from(said, "utf8");
  return { ...keepOwnRecord(place, record), address, code: status, answer };
}

function checkPath(path: string, batchDir: string | undefined): void {
  const isAllowed = batchDir !== undefined && path !== batchDir && isInside(path, batchDir);
  if (isAllowed) return;
  const outside = `${path} is not inside ${batchDir}, the folder for batches (batch_dir)`;
  const field = "destination.path";
  throw new PosthornError("invalid_field", `${field}: ${batchDir === undefined ? NO_FOLDER : outside}.`, { field });
}
