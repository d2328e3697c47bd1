// Starts the processes that a figure needs, asks them things, and ends every one of them with the bench.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const running = new Set();

process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export function keepTrack(child) {
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** A child of `bench/children` whose acts are called by name: `await child.ask("flood", { … })`. */
export async function startChild(name, args = [], options = {}) {
  const file = fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url));
  const child = keepTrack(fork(file, args.map(String), options));
  const waiting = new Map();
  let lastId = 0;
  let isStopping = false;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  await new Promise((resolve, reject) => {
    child.once("message", resolve);
    child.once("exit", () => reject(new Error(`${name} ended at its start`)));
  });
  child.on("message", ({ id, value, error }) => {
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(value);
    else reject(new Error(`${name}: ${error}`));
  });
  child.once("exit", () => {
    for (const { reject } of waiting.values()) if (!isStopping) reject(new Error(`${name} ended`));
  });
  return {
    ask: (act, ...asked) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        waiting.set(id, { resolve, reject });
        child.send({ id, name: act, args: asked });
      }),
    async stop() {
      isStopping = true;
      child.kill("SIGKILL");
      await exited;
    },
  };
}
