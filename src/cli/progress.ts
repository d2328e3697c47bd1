import { escapeControls } from "../telemetry/terminal-text.ts";
import { getSurroundings } from "./surroundings.ts";

/** A progress bar on stderr for long tasks; shown only on a terminal. */
export interface Progress {
  show(done: number): void;
  close(): void;
}

const WIDTH = 30;
const EVERY_MS = 100;
const CLEAR_LINE = "\r\u001b[K";

/** `unit` is appended to the numbers: ` s`. */
export function openProgress(total: number, unit = ""): Progress {
  const { stderr } = getSurroundings();
  let shownAt = performance.now();
  let isShown = false;
  return {
    show(done) {
      const now = performance.now();
      if (stderr.isTTY !== true || now - shownAt < EVERY_MS) return;
      shownAt = now;
      isShown = true;
      const filled = Math.floor((done * WIDTH) / total);
      stderr.write(`${CLEAR_LINE}[${"#".repeat(filled).padEnd(WIDTH, ".")}] ${done} of ${total}${unit}`);
    },
    close() {
      if (isShown) stderr.write(CLEAR_LINE);
    },
  };
}

/** Shows how far back a search has come; only on a terminal. */
export function showSearchedUntil(time: string | null): void {
  const { stderr } = getSurroundings();
  if (stderr.isTTY === true)
    stderr.write(time === null ? CLEAR_LINE : `${CLEAR_LINE}searched back to ${escapeControls(time)}`);
}
