import { parentPort, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import { BATCH_LIMITS } from "../commit/batch.ts";
import { fromBatchMessage, toResultMessage, type BatchMessage } from "../commit/thread-messages.ts";
import { reportFault } from "./faults.ts";
import { openWriter, type WriterOptions } from "./writer.ts";

if (parentPort === null) throw new Error("writer-thread.ts must be started as a thread");
const port: MessagePort = parentPort;

/** Commits batches that came meanwhile together with `first`, as many as fit; "close" is always the last message. */
function takeWaiting(first: BatchMessage): { messages: BatchMessage[]; isLast: boolean } {
  const messages = [first];
  let { rows } = first;
  let bytes = sizeOf(first);
  while (rows < BATCH_LIMITS.maxRows && bytes < BATCH_LIMITS.maxBytes) {
    const next = receiveMessageOnPort(port)?.message as BatchMessage | "close" | undefined;
    if (next === undefined) break;
    if (next === "close") return { messages, isLast: true };
    messages.push(next);
    rows += next.rows;
    bytes += sizeOf(next);
  }
  return { messages, isLast: false };
}

function sizeOf({ accepts, settles }: BatchMessage): number {
  return (accepts?.byteLength ?? 0) + (settles?.byteLength ?? 0);
}

function open(options: WriterOptions): void {
  const writer = openWriter(options);
  const close = () => {
    writer.close();
    port.close();
  };
  port.on("message", (message: BatchMessage | "close") => {
    if (message === "close") return close();
    const { messages, isLast } = takeWaiting(message);
    const answers = writer.commit(messages.map(fromBatchMessage)).map(toResultMessage);
    port.postMessage(
      answers.map((answer) => answer.message),
      answers.flatMap(({ transfer }) => transfer),
    );
    const lost = writer.checkpoint();
    if (lost !== undefined) port.postMessage({ lost });
    if (isLast) close();
  });
  port.postMessage({ opened: writer.info });
}

port.once("message", (options: WriterOptions | "close") => {
  if (options === "close") return port.close();
  try {
    open(options);
  } catch (error) {
    port.postMessage({ failed: reportFault(error) });
    port.close();
  }
});
