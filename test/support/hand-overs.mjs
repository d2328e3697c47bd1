// Stands in place of the database's package in a copy of the build, and records who hands work on. The way of an event
// through the code is a row of stretches, each of which ends in one of a few calls: to the loop, to another thread, to the
// database or to a socket. The stack of such a call has the functions of that stretch. Records only while there is a
// file `on` in WAY_FOLDER.
import { appendFileSync, existsSync } from "node:fs";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { join } from "node:path";
import { env, hrtime } from "node:process";
import { MessagePort, Worker } from "node:worker_threads";
import { DatabaseSync as RealDatabase } from "@photostructure/sqlite";

const folder = env.WAY_FOLDER ?? "";
const flag = join(folder, "on");
Error.stackTraceLimit = 200;

function watch(owner, name, to) {
  const real = owner[name];
  function watched(...args) {
    if (existsSync(flag)) {
      const { stack = "" } = new Error(to);
      appendFileSync(join(folder, "hand-overs"), `${JSON.stringify({ at: String(hrtime.bigint()), to, stack })}\n`);
    }
    return Reflect.apply(real, this, args);
  }
  Object.defineProperty(owner, name, { value: watched });
}

watch(globalThis, "setImmediate", "the loop");
watch(Worker.prototype, "postMessage", "a thread");
watch(MessagePort.prototype, "postMessage", "a thread");
watch(Socket.prototype, "write", "a socket");
watch(IncomingMessage.prototype, "on", "the body");
watch(ServerResponse.prototype, "end", "the sender");

export class DatabaseSync extends RealDatabase {
  prepare(...args) {
    const statement = super.prepare(...args);
    for (const name of ["run", "get", "all"]) watch(statement, name, "the database");
    return statement;
  }
}
