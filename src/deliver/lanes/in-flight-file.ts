import { closeSync, constants, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import type { ClaimedDelivery, SentMark } from "../../store/port/lanes.ts";

/**
 * Notes which deliveries are being sent right now, so that the next process can read it. Deliveries are claimed before
 * their turn, so after a crash the store alone cannot tell which of them were on the wire. The file is never synced: a
 * crash of the process keeps what was written, and after a power cut no search for a delivery that kills the process is
 * needed.
 */
export interface InFlightMarks {
  /**
   * Calls `go` with the place of each delivery when all are noted, before the first byte leaves. Each place must be
   * given back.
   */
  start(deliveries: readonly ClaimedDelivery[], go: Go): void;
  /** The outcome is in the store: the place is free. */
  end(place: number): void;
}

type Go = (places: readonly number[]) => void;

export interface InFlightFile extends InFlightMarks {
  /** The deliveries that the last process was sending when it ended; some of these attempts may be settled already. */
  readonly left: readonly SentMark[];
  close(): void;
}

/** Event, subscription, generation, attempt number: four numbers of eight bytes. */
const MARK_NUMBERS = 4;
const MARK_BYTES = 8 * MARK_NUMBERS;

export interface InFlightFileOptions {
  /** The expected number of deliveries in flight; more are possible. */
  places: number;
  /** Called once when the file cannot be written. Deliveries continue: the file is needed only after a crash. */
  onFault: (error: unknown) => void;
  /** Decides when collected notes are written: one write for many attempts costs a twentieth of single writes. */
  defer: (write: () => void) => void;
}

export function openInFlightFile(path: string, { places, onFault, defer }: InFlightFileOptions): InFlightFile {
  let marks = new Float64Array(places * MARK_NUMBERS);
  const free: number[] = [];
  let used = 0;
  let waiting: { places: readonly number[]; go: Go }[] = [];
  let file: number | undefined;
  let left: SentMark[] = [];

  try {
    file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    left = readMarks(file);
    ftruncateSync(file);
    // Reserves space for most of what will be needed, so that a full disk is noticed here and not while sending.
    writeSync(file, marks, 0, marks.byteLength, 0);
  } catch (error) {
    giveUp(error);
  }

  function giveUp(error: unknown): void {
    onFault(error);
    const failed = file;
    file = undefined;
    if (failed !== undefined) tryClose(failed);
  }

  function note(place: number, { eventSeq, subscriptionSeq, generation, attemptCount }: ClaimedDelivery): void {
    const at = place * MARK_NUMBERS;
    if (at >= marks.length) {
      const more = new Float64Array(2 * marks.length + MARK_NUMBERS);
      more.set(marks);
      marks = more;
    }
    marks[at] = eventSeq;
    marks[at + 1] = subscriptionSeq;
    marks[at + 2] = generation;
    marks[at + 3] = attemptCount + 1;
  }

  /** Writes from the first changed place to the last, with the unchanged places between them. */
  function write(): void {
    const noted = waiting;
    waiting = [];
    let first = used;
    let last = 0;
    for (const { places } of noted) {
      for (const place of places) {
        if (place < first) first = place;
        if (place > last) last = place;
      }
    }
    try {
      const start = first * MARK_BYTES;
      if (file !== undefined) writeSync(file, marks, start, (last + 1) * MARK_BYTES - start, start);
    } catch (error) {
      giveUp(error);
    }
    for (const { places, go } of noted) go(places);
  }

  return {
    left,
    start(deliveries, go) {
      const places: number[] = [];
      for (const delivery of deliveries) {
        const place = free.pop() ?? used++;
        note(place, delivery);
        places.push(place);
      }
      waiting.push({ places, go });
      if (waiting.length === 1) defer(write);
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
    // Even if closing fails, the descriptor is gone.
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
