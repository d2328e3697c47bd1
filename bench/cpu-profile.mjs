// Reads the CPU profiles that Node wrote for each thread of a process, and says where the time of a while went.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const TOP = 25;
const TOP_OWNERS = 20;

/** `fromUs` and `toUs` in the monotonic clock, which the profiles use too. */
export function readProfiles(dir, fromUs, toUs) {
  return readdirSync(dir)
    .filter((name) => name.endsWith(".cpuprofile"))
    .map((name) => summarize(JSON.parse(readFileSync(join(dir, name), "utf8")), fromUs, toUs));
}

function summarize({ nodes, samples, timeDeltas, startTime }, fromUs, toUs) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const node of nodes) for (const child of node.children ?? []) byId.get(child).parent = node;
  const self = new Map();
  const owners = new Map();
  const add = (map, name, us) => map.set(name, (map.get(name) ?? 0) + us);
  let idleUs = 0;
  let busyUs = 0;
  let at = startTime;
  samples.forEach((id, i) => {
    at += timeDeltas[i];
    if (at < fromUs || at > toUs) return;
    // A sample stands for the time until the next one.
    const us = Math.max(0, timeDeltas[i + 1] ?? 0);
    const node = byId.get(id);
    if (node.callFrame.functionName === "(idle)") {
      idleUs += us;
      return;
    }
    busyUs += us;
    add(self, nameOf(node), us);
    add(owners, nameOf(findOwner(node)), us);
  });
  const sorted = (map) => [...map].map(([name, us]) => ({ name, us })).sort((a, b) => b.us - a.us);
  return {
    thread: nameThread(nodes.map(({ callFrame }) => callFrame.url)),
    idleUs,
    busyUs,
    self: sorted(self),
    owners: sorted(owners),
  };
}

/** The nearest function of the gateway itself that this was done for; else what was nearest to the event loop. */
function findOwner(node) {
  for (let at = node; at !== undefined; at = at.parent) if (at.callFrame.url.includes("/dist/")) return at;
  let top = node;
  while (top.parent?.parent !== undefined) top = top.parent;
  return top;
}

function nameOf({ callFrame: { functionName, url, lineNumber } }) {
  const place = url === "" ? "" : ` ${url.replace(/^.*\/(node_modules\/|(?=dist\/))/, "")}:${lineNumber + 1}`;
  return `${functionName || "(anonymous)"}${place}`;
}

function nameThread(urls) {
  if (urls.some((url) => url.endsWith("writer-thread.js"))) return "writer thread";
  if (urls.some((url) => url.endsWith("reader-thread.js"))) return "reader thread";
  return "main thread";
}

export function formatProfile({ thread, idleUs, busyUs, self, owners }, { title, events }) {
  const line = ({ name, us }) =>
    `  ${`${((100 * us) / busyUs).toFixed(1)} %`.padStart(7)} ${`${(us / events).toFixed(2)} µs`.padStart(9)}  ${name}`;
  return [
    `${title}, ${thread}: ${(busyUs / events).toFixed(1)} µs per event; busy ${((100 * busyUs) / (busyUs + idleUs)).toFixed(0)} %`,
    " by function itself",
    ...self.slice(0, TOP).map(line),
    " by the gateway's function it was done for",
    ...owners.slice(0, TOP_OWNERS).map(line),
  ].join("\n");
}
