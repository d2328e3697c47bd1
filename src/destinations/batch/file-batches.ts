import { DELIVERED, failed, failedHere, type Outcome } from "../../model/outcome.ts";
import type { SenderServices } from "../services.ts";
import type { SendRows, SentRow } from "./posted-batches.ts";
import { createRotatingFile, type RotatingFile } from "./rotating-file.ts";
import type { BatchDestination, FileTo } from "./settings.ts";

export interface FileBatches {
  send: SendRows;
  /** Resolves when everything that was being written is on disk. */
  close(): Promise<void>;
}

/** Appends batches to files: each is one write and one fsync. */
export function createFileBatches(
  { clock, batchDir }: Pick<SenderServices, "clock" | "batchDir">,
  createFile = createRotatingFile,
): FileBatches {
  const files = new Map<string, RotatingFile>();

  function fileOf(path: string, root: string): RotatingFile {
    let file = files.get(path);
    if (file === undefined) files.set(path, (file = createFile(path, root, clock)));
    return file;
  }

  return {
    send(sent, done) {
      const { subscription } = (sent[0] as SentRow).attempt;
      const { path, ...rules } = (subscription.destination as BatchDestination).to as FileTo;
      const bytes = Buffer.concat(sent.map(({ row }) => row));
      const record = { rows: sent.length, bytes: bytes.length };
      let isOver = false;
      const end = (outcome: Outcome) => {
        if (isOver) return;
        isOver = true;
        deadline.cancel();
        done(sent.map(() => ({ outcome, fact: { record } })));
      };
      const { timeoutMs } = subscription;
      const late = failed(`it was not on disk within ${timeoutMs} ms`, { result: "timeout" });
      const deadline = clock.setTimer(clock.now() + timeoutMs, () => end(late));
      if (batchDir === undefined) return end(failedHere(NO_FOLDER));
      fileOf(path, batchDir)
        .append(bytes, rules)
        .then(
          () => end(DELIVERED),
          (error: unknown) => end(failed(`it could not be written: ${describe(error)}`)),
        );
    },
    async close() {
      await Promise.all([...files.values()].map((file) => file.close()));
      files.clear();
    },
  };
}

export const NO_FOLDER = "this gateway has no folder for batches; set batch_dir (POSTHORN_BATCH_DIR)";

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
