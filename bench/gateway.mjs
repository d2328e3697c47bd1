// The gateway as users run it: its own process, started by its command, on a data directory of its own.
import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { keepTrack } from "./children.mjs";

const ADMIN_KEY = "bench-admin-key-0123456789abcdef";
const AUTHORIZATION = { authorization: `Bearer ${ADMIN_KEY}` };
const ROOT = fileURLToPath(new URL("..", import.meta.url));
const START_TIMEOUT_MS = 60_000;
const DRAIN_TIMEOUT_MS = 600_000;
/** Linux counts CPU time for users in hundredths of a second. */
const MS_PER_TICK = 10;

/** `root` is the checkout it runs from, `preload` a library for LD_PRELOAD; `profileDir` takes a CPU profile of every thread. */
export async function startGateway({ dataDir, root = ROOT, preload, preloadEnv = {}, profileDir }) {
  const port = await findFreePort();
  const logFile = `${dataDir}.log`;
  const log = openSync(logFile, "a");
  const startedAt = performance.now();
  const profiling = profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`];
  const child = keepTrack(
    spawn(process.execPath, [...profiling, join(root, "bin/posthorn.js"), "start"], {
      cwd: join(dataDir, ".."),
      stdio: ["ignore", log, log],
      env: {
        ...process.env,
        ...preloadEnv,
        ...(preload === undefined ? {} : { LD_PRELOAD: preload }),
        POSTHORN_PORT: String(port),
        POSTHORN_DATA_DIR: dataDir,
        POSTHORN_ADMIN_KEY: ADMIN_KEY,
        POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
        POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
      },
    }),
  );
  closeSync(log);
  const url = `http://127.0.0.1:${port}`;
  await untilReady(url, child, logFile);
  const readyAfterMs = performance.now() - startedAt;
  const exited = new Promise((resolve) => child.once("exit", resolve));

  async function api(method, path, body) {
    const response = await fetch(url + path, {
      method,
      headers: body === undefined ? AUTHORIZATION : { ...AUTHORIZATION, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) {
      const message = `${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`;
      throw Object.assign(new Error(message), { status: response.status });
    }
    return JSON.parse(text);
  }

  return {
    port,
    pid: child.pid,
    readyAfterMs,
    api,
    authorization: AUTHORIZATION.authorization,
    subscribe: (subscription) => api("POST", "/api/v1/subscriptions", { concurrency: 64, ...subscription }),
    /** Resolves when nothing is open any more; of one subscription, or of all. */
    async drained(subscriptionId, pollMs = 20) {
      const endsAt = performance.now() + DRAIN_TIMEOUT_MS;
      for (;;) {
        const open =
          subscriptionId === undefined
            ? (await api("GET", "/status")).queue_length
            : (await api("GET", `/api/v1/subscriptions/${subscriptionId}`)).stats.open_count;
        if (open === 0) return;
        if (performance.now() > endsAt) throw new Error(`${open} deliveries are still open`);
        await wait(pollMs);
      }
    },
    residentMb() {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      const read = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
      return { now: read("VmRSS"), peak: read("VmHWM") };
    },
    /** CPU time so far, of the main thread and of all others. */
    cpuMs() {
      const read = (path) => {
        const fields = readFileSync(path, "utf8").split(") ")[1].split(" ");
        return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
      };
      const all = read(`/proc/${child.pid}/stat`);
      const main = read(`/proc/${child.pid}/task/${child.pid}/stat`);
      return { main, others: all - main };
    },
    async stop() {
      child.kill("SIGTERM");
      const cut = setTimeout(() => child.kill("SIGKILL"), 30_000);
      await exited;
      clearTimeout(cut);
    },
  };
}

async function untilReady(url, child, logFile) {
  const endsAt = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < endsAt) {
    if (child.exitCode !== null) break;
    const status = await fetch(`${url}/readyz`).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return;
    await wait(5);
  }
  const text = existsSync(logFile) ? readFileSync(logFile, "utf8").slice(-2000) : "";
  throw new Error(`the gateway did not get ready:\n${text}`);
}

function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
