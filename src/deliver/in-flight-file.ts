import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import type { ClaimedDelivery, SentMark } from "../store/store.ts";

/**
 * What is being sent right now, where the next process finds it. Deliveries are claimed ahead of their turn, so that
 * after a crash the store alone cannot say which of them were on the wire. Never synced: a crash of the process leaves
 * what was written, and after a power cut nobody looks for a delivery that kills the process.
 */
export interface InFlightMarks {
  /** Called before the first byte leaves. Returns the place to give back. */
  start(delivery: ClaimedDelivery): number;
  /** The store knows the outcome: the place is free. */
  end(place: number): void;
}

export interface InFlightFile extends InFlightMarks {
  /** What the last process was sending when it ended, and attempts that were settled. */
  readonly left: readonly SentMark[];
  close(): void;
}

/** Event, subscription, generation, attempt number: four numbers of eight bytes. */
const MARK_BYTES = 32;

/** A file that cannot be written is told once, and deliveries go on: it is needed only after a crash. */
export function openInFlightFile(path: string, places: number, onFault: (error: unknown) => void): InFlightFile {
  const mark = new Float64Array(4);
  const free: number[] = [];
  let used = 0;
  let file: number | undefined;
  let left: SentMark[] = [];

  try {
    file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    left = readMarks(file);
    // Room for most of what will be needed, so that a full disk is met here and not while sending.
    writeSync(file, new Uint8Array(places * MARK_BYTES), 0, places * MARK_BYTES, 0);
  } catch (error) {
    giveUp(error);
  }

  function giveUp(error: unknown): void {
    onFault(error);
    const failed = file;
    file = undefined;
    if (failed !== undefined) tryClose(failed);
  }

  return {
    left,
    start(delivery) {
      const place = free.pop() ?? used++;
      if (file === undefined) return place;
      mark[0] = delivery.eventSeq;
      mark[1] = delivery.subscriptionSeq;
      mark[2] = delivery.generation;
      mark[3] = delivery.attemptCount + 1;
      try {
        writeSync(file, mark, 0, MARK_BYTES, place * MARK_BYTES);
      } catch (error) {
        giveUp(error);
      }
      return place;
    },
    end(place) {
      free.push(place);
    },
    close() {
      if (file !== undefined) tryClose(file);
      file = undefined;
    },
  };
}

function tryClose(file: number): void {
  try {
    closeSync(file);
  } catch {
    // Whatever it says, the descriptor is gone.
  }
}

function readMarks(file: number): SentMark[] {
  const marks: SentMark[] = [];
  const chunk = new Float64Array(4 * 1024);
  for (let at = 0; ;) {
    const bytes = readSync(file, chunk, 0, chunk.byteLength, at);
    for (let i = 0; i + MARK_BYTES <= bytes; i += MARK_BYTES) {
      const [eventSeq = 0, subscriptionSeq = 0, generation = 0, attemptNumber = 0] = chunk.subarray(i / 8, i / 8 + 4);
      if (eventSeq > 0) marks.push({ eventSeq, subscriptionSeq, generation, attemptNumber });
    }
    if (bytes < chunk.byteLength) return marks;
    at += bytes;
  }
}
