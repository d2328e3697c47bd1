import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";

/** The bare server and the sink of a bench. */
export interface FarEnd {
  barePort: number;
  sinkPort: number;
  /** How many deliveries the sink has received so far, and when the last one came, in ms of this process. */
  read(): Promise<{ taken: number; lastAt: number }>;
  close(): Promise<void>;
}

export async function openFarEnd(): Promise<FarEnd> {
  const worker = new Worker(new URL(`./far-end-thread${extname(import.meta.url)}`, import.meta.url));
  const [ports] = (await once(worker, "message")) as [{ barePort: number; sinkPort: number }];
  return {
    ...ports,
    async read() {
      worker.postMessage("read");
      const [{ taken, lastAt }] = (await once(worker, "message")) as [{ taken: number; lastAt: number }];
      return { taken, lastAt: lastAt - performance.timeOrigin };
    },
    async close() {
      await worker.terminate();
    },
  };
}
