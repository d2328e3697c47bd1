// Fails the test file that leaves something open behind: a server, a socket, a child process, a worker thread, a timer
// that keeps the process alive, or an open file (a store that was not closed).
import { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { readdirSync, readlinkSync } from "node:fs";
import { Server, Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { afterAll } from "vitest";
import { collectGarbage } from "./collect-garbage.ts";

/** Sockets and threads take a few turns of the loop to be gone after they were closed, more on a busy machine. */
const GRACE_MS = Number(process.env["OPEN_HANDLES_GRACE_MS"] ?? 30_000);
const POLL_MS = 20;

/** What Node itself and the test runner open when they please. */
const IGNORED_RESOURCES = new Set([
  "PipeWrap",
  "TTYWrap",
  "CloseReq",
  "Immediate",
  "FSReqCallback",
  "FSReqPromise",
  "FileHandle",
  "FileHandleCloseReq",
  "TickObject",
]);

/** Node lists no worker threads among its resources, but tells when one is made. */
const threads = new Set<Worker>();
const noteThread = (message: unknown): void => {
  const worker: unknown = Reflect.get(Object(message), "worker");
  if (!(worker instanceof Worker)) return;
  threads.add(worker);
  worker.once("exit", () => threads.delete(worker));
};
subscribe("worker_threads", noteThread);

const before = snapshot();

afterAll(async () => {
  const deadline = performance.now() + GRACE_MS;
  let left = leftOpen();
  if (left.length > 0) {
    await collectGarbage();
    left = leftOpen();
  }
  while (left.length > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    left = leftOpen();
  }
  // The next file of this process has its own.
  unsubscribe("worker_threads", noteThread);
  // What a failed test started must not outlive it.
  for (const handle of activeHandles()) if (handle instanceof ChildProcess) handle.kill("SIGKILL");
  if (left.length > 0) throw new Error(`this test file left open:\n${left.map((thing) => `  ${thing}`).join("\n")}`);
});

function leftOpen(): string[] {
  const known = [...before];
  return snapshot().filter((thing) => {
    const index = known.indexOf(thing);
    if (index === -1) return true;
    known.splice(index, 1);
    return false;
  });
}

function snapshot(): string[] {
  const handles = activeHandles();
  const described = handles.map(describeHandle).filter((text) => text !== undefined);
  const others = process.getActiveResourcesInfo().filter((kind) => !isDescribed(kind) && !IGNORED_RESOURCES.has(kind));
  const workers = [...threads].map(({ threadId }) => `worker thread ${threadId}`);
  return [...described, ...workers, ...others.map((kind) => `resource ${kind}`), ...openFiles()];
}

function activeHandles(): unknown[] {
  const read: unknown = Reflect.get(process, "_getActiveHandles");
  return typeof read === "function" ? (read.call(process) as unknown[]) : [];
}

function isDescribed(kind: string): boolean {
  return kind === "TCPServerWrap" || kind === "TCPSocketWrap" || kind === "ProcessWrap";
}

function describeHandle(handle: unknown): string | undefined {
  if (handle instanceof Server) return `server listening on ${JSON.stringify(handle.address())}`;
  if (handle instanceof ChildProcess) return `child process ${handle.pid}: ${handle.spawnargs.join(" ")}`;
  if (handle instanceof Socket && handle.remoteAddress !== undefined) {
    return `socket to ${handle.remoteAddress}:${handle.remotePort}`;
  }
  return undefined;
}

/** Only where the system shows them; a database has no handle of its own in the event loop. */
function openFiles(): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return isOrdinaryFile(target) ? [`open file ${target}`] : [];
    } catch {
      return [];
    }
  });
}

function isOrdinaryFile(target: string): boolean {
  return target.startsWith("/") && !/^\/(proc|dev|sys)\//.test(target) && !target.includes("/node_modules/");
}
