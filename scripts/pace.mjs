// How fast this machine is, for budgets of CPU time that mean the same everywhere.
import { createHash } from "node:crypto";

/** CPU milliseconds of the work below on the machine on which the budgets were set. */
const REFERENCE_MS = 165;
const ROUNDS = 3;

/** 1 on that machine, 2 on one that needs twice the CPU time for the same work. */
export function measurePace() {
  // The best of a few: the first is slower than the rest, and any may meet other work.
  return Math.min(...Array.from({ length: ROUNDS }, measureOnce)) / REFERENCE_MS;
}

function measureOnce() {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** A bit of all that tests do: text, objects, hashes, garbage. */
function work() {
  const rows = Array.from({ length: 2_000 }, (_, index) => ({ id: `evt_${index}`, tags: ["a", "b"], size: index }));
  let byId = new Map();
  for (let round = 0; round < 60; round += 1) {
    const text = JSON.stringify(rows);
    createHash("sha256").update(text).digest("hex");
    const read = JSON.parse(text);
    read.sort((a, b) => (a.id < b.id ? -1 : 1));
    byId = new Map(read.map((row) => [row.id, { ...row, round }]));
  }
  return byId.size;
}
