// Reads the CPU profiles that Node wrote for each thread of a process, and says where the time went.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const NOT_WORK = new Set(["(idle)", "(program)", "(root)"]);

export function readProfiles(dir) {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".cpuprofile"))
    .map((name) => summarize(JSON.parse(readFileSync(join(dir, name), "utf8"))));
}

function summarize({ nodes, samples, timeDeltas }) {
  const selfUs = new Map();
  const byId = new Map(nodes.map((node) => [node.id, node]));
  let idleUs = 0;
  let nativeUs = 0;
  let busyUs = 0;
  samples.forEach((id, i) => {
    const { functionName, url, lineNumber } = byId.get(id).callFrame;
    const us = timeDeltas[i];
    if (functionName === "(idle)") idleUs += us;
    else busyUs += us;
    if (functionName === "(program)") nativeUs += us;
    if (NOT_WORK.has(functionName)) return;
    const place = url === "" ? "" : ` ${shorten(url)}:${lineNumber + 1}`;
    const name = `${functionName || "(anonymous)"}${place}`;
    selfUs.set(name, (selfUs.get(name) ?? 0) + us);
  });
  const urls = new Set(nodes.map(({ callFrame }) => callFrame.url));
  return {
    thread: nameThread([...urls]),
    idleMs: idleUs / 1000,
    busyMs: busyUs / 1000,
    /** Outside of JavaScript and not attributed: libuv, sockets, garbage collection apart. */
    programMs: nativeUs / 1000,
    functions: [...selfUs].map(([name, us]) => ({ name, ms: us / 1000 })).sort((a, b) => b.ms - a.ms),
  };
}

function nameThread(urls) {
  if (urls.some((url) => url.endsWith("writer-thread.js"))) return "writer thread";
  if (urls.some((url) => url.endsWith("reader-thread.js"))) return "reader thread";
  return "main thread";
}

function shorten(url) {
  return url.replace(/^.*\/node_modules\//, "").replace(/^.*\/dist\//, "dist/");
}

export function formatProfile({ thread, idleMs, busyMs, programMs, functions }, { title, events, top = 25 }) {
  const share = (ms) => `${((100 * ms) / busyMs).toFixed(1)} %`.padStart(7);
  const lines = functions.slice(0, top).map(({ name, ms }) => {
    const perEvent = `${((1000 * ms) / events).toFixed(2)} µs`.padStart(9);
    return `  ${share(ms)} ${perEvent}  ${name}`;
  });
  return [
    `${title}, ${thread}: busy ${Math.round(busyMs)} ms, idle ${Math.round(idleMs)} ms, ${events} events`,
    `  ${share(programMs)} ${`${((1000 * programMs) / events).toFixed(2)} µs`.padStart(9)}  (program: sockets, libuv, SQLite's disk)`,
    ...lines,
  ].join("\n");
}
