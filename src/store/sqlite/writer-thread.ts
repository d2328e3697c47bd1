import { parentPort, workerData } from "node:worker_threads";
import type { BatchMessage } from "./thread-messages.ts";
import { fromBatchMessage, toResultMessage } from "./thread-messages.ts";
import { reportFault } from "./faults.ts";
import { openWriter, type WriterOptions } from "./writer.ts";

const port = parentPort;
if (port === null) throw new Error("writer-thread.ts is started as a thread");

try {
  const writer = openWriter(workerData as WriterOptions);
  port.on("message", (message: BatchMessage | "close") => {
    if (message === "close") {
      writer.close();
      port.postMessage("closed");
      port.close();
      return;
    }
    const answer = toResultMessage(writer.commit(fromBatchMessage(message)));
    port.postMessage(answer.message, answer.transfer);
  });
  port.postMessage({ opened: writer.info });
} catch (error) {
  port.postMessage({ failed: reportFault(error) });
  port.close();
}
