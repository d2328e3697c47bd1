import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import type { ClaimedDelivery, SentMark } from "../store/port/lanes.ts";

export type InFlightFile = ReturnType<typeof openInFlightFile>;
export type InFlightMarks = Pick<InFlightFile, "start" | "end">;
type Go = (places: readonly number[]) => void;

/** Event, subscription, generation, attempt number: four numbers of eight bytes. */
const MARK_NUMBERS = 4;
const MARK_BYTES = 8 * MARK_NUMBERS;
/** Stands in place of the first mark: all others come after it. No event has this number. */
const STOPPED = -1;

export interface InFlightFileOptions {
  /** The expected number of deliveries in flight; more are possible. */
  places: number;
  /** Called once when the file cannot be written. Deliveries continue: the file is needed only after a crash. */
  onFault: (error: unknown) => void;
  /** Decides when collected marks are written: one write for many attempts costs a twentieth of single writes. */
  defer: (write: () => void) => void;
}

/**
 * Records which deliveries are being sent right now, so that the next process can read it. Deliveries are claimed before
 * their turn, so after a crash the store alone cannot tell which of them were on the wire. Marks are not synced: a crash
 * of the process keeps what was written, and after a power cut no search for a delivery that kills the process is needed.
 */
export function openInFlightFile(path: string, { places, onFault, defer }: InFlightFileOptions) {
  let marks = new Float64Array(places * MARK_NUMBERS);
  const free: number[] = [];
  let used = 0;
  let waiting: { places: readonly number[]; go: Go }[] = [];
  let file: number | undefined;
  let isBegun = false;
  let left: Left = { left: [], wasStopped: false };

  try {
    file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    left = readMarks(file);
  } catch (error) {
    giveUp(error);
  }

  function tryWrite(write: (file: number) => void): void {
    if (file === undefined) return;
    try {
      write(file);
    } catch (error) {
      giveUp(error);
    }
  }

  function giveUp(error: unknown): void {
    onFault(error);
    const failed = file;
    file = undefined;
    if (failed !== undefined) tryClose(failed);
  }

  function mark(place: number, { eventSeq, subscriptionSeq, generation, attemptCount }: ClaimedDelivery): void {
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
    const begun = waiting;
    waiting = [];
    let first = used;
    let last = 0;
    for (const { places } of begun) {
      for (const place of places) {
        if (place < first) first = place;
        if (place > last) last = place;
      }
    }
    const start = first * MARK_BYTES;
    tryWrite((open) => writeSync(open, marks, start, (last + 1) * MARK_BYTES - start, MARK_BYTES + start));
    for (const { places, go } of begun) go(places);
  }

  return {
    ...left,
    /** Forgets what the last process left, on the disk too. Called once, when it is recovered and before the first `start`. */
    begin(): void {
      isBegun = true;
      tryWrite((open) => {
        ftruncateSync(open);
        // Reserves space for most of what will be needed, so that a full disk is noticed here and not while sending.
        writeSync(open, new Uint8Array(MARK_BYTES + marks.byteLength), 0, MARK_BYTES + marks.byteLength, 0);
        if (left.wasStopped) fsyncSync(open);
      });
    },
    /** Nothing is sent any more, and the end of the process is not a crash. This is on the disk when it returns. */
    stop(): void {
      if (!isBegun) return;
      tryWrite((open) => {
        writeSync(open, Float64Array.of(STOPPED), 0, 8, 0);
        fsyncSync(open);
      });
    },
    /** Calls `go` with the place of each delivery when all are marked, before the first byte leaves. */
    start(deliveries: readonly ClaimedDelivery[], go: Go): void {
      const places: number[] = [];
      for (const delivery of deliveries) {
        const place = free.pop() ?? used++;
        mark(place, delivery);
        places.push(place);
      }
      waiting.push({ places, go });
      if (waiting.length === 1) defer(write);
    },
    /** The outcome is in the store: the place is free. */
    end(place: number): void {
      free.push(place);
    },
    close(): void {
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

interface Left {
  /** The deliveries that the last process was sending when it ended; some of these attempts may be settled already. */
  readonly left: readonly SentMark[];
  /** Whether the last process ended in order, so that what is left is not the cause of a crash. */
  readonly wasStopped: boolean;
}

function readMarks(file: number): Left {
  const left: SentMark[] = [];
  let wasStopped = false;
  const chunk = new Float64Array(4 * 1024);
  for (let at = 0; ;) {
    const bytes = readSync(file, chunk, 0, chunk.byteLength, at);
    for (let i = 0; i + MARK_BYTES <= bytes; i += MARK_BYTES) {
      const [eventSeq = 0, subscriptionSeq = 0, generation = 0, attemptNumber = 0] = chunk.subarray(i / 8, i / 8 + 4);
      if (eventSeq > 0) left.push({ eventSeq, subscriptionSeq, generation, attemptNumber });
      wasStopped ||= eventSeq === STOPPED;
    }
    if (bytes < chunk.byteLength) return { left, wasStopped };
    at += bytes;
  }
}
