import { parentPort, type MessagePort } from "node:worker_threads";
import { openReadConnection } from "./connection.ts";
import { reportFault } from "./faults.ts";
import { createQueries, runQuery } from "./queries.ts";

export interface ReadCall {
  id: number;
  port: string;
  name: string;
  args: readonly unknown[];
}

if (parentPort === null) throw new Error("reader-thread.ts must be started as a thread");
const port: MessagePort = parentPort;

port.once("message", (file: string) => {
  if (file === "close") return port.close();
  const db = openReadConnection(file);
  const queries = createQueries(db);

  port.on("message", (call: ReadCall | "close") => {
    if (call === "close") {
      db.close();
      port.close();
      return;
    }
    try {
      port.postMessage({ id: call.id, value: runQuery(queries, call.port, call.name, call.args) });
    } catch (error) {
      port.postMessage({ id: call.id, failed: reportFault(error) });
    }
  });
});
