import { buildConnector, Pool } from "undici";
import { createAddressGuard } from "../../dist/destinations/wire/address-guard.js";
import { openHttpClient } from "../../dist/destinations/wire/http-client.js";
import { createSystemClock } from "../../dist/model/clock.js";
import { createBody } from "../children/stamp.mjs";
import { BODY_BYTES, CONNECTIONS, TURNS_PER_ROUND } from "../plan.mjs";
import { median } from "../statistics.mjs";

const REQUESTS = 4000;
const TIMEOUT_MS = 30_000;
const HEADERS = {
  "content-type": "application/json",
  "user-agent": "Posthorn",
  "webhook-id": "evt_0123456789abcdef",
  "webhook-timestamp": "1767225600",
  "webhook-signature": `v1,${"x".repeat(44)}`,
};

/** What a request costs the processor over the wire of our own ÷ over undici's, with the same guard. */
export async function measureWire(bench) {
  const sink = await bench.startSink();
  const guard = createAddressGuard({ allowPrivate: ["127.0.0.0/8"] });
  const ways = { ours: openOurs(guard, sink.url), undici: openUndici(guard, sink.url) };
  const rounds = [];
  try {
    for (let i = 0; i <= bench.plan.rounds * TURNS_PER_ROUND; i++) {
      const round = {};
      for (const [name, { post }] of Object.entries(ways)) round[name] = await measureTurn(post);
      // The first warms up.
      if (i > 0) rounds.push(round);
    }
  } finally {
    for (const { close } of Object.values(ways)) await close();
    await bench.stopAll();
  }
  const typical = (of) => median(rounds.map(of));
  const us = (name) => `${typical((round) => round[name]).toFixed(1)} µs`;
  return {
    rows: [
      {
        figure: "CPU of a request over our wire ÷ over undici",
        value: typical(({ ours, undici }) => ours / undici),
        must: 0.75,
        isLowerBetter: true,
        note: `${us("ours")} against ${us("undici")}, the system's share of both included`,
      },
    ],
    details: { rounds },
  };
}

/** In microseconds of this process, for one request. */
async function measureTurn(post) {
  const before = process.cpuUsage();
  let left = REQUESTS;
  const loop = async () => {
    while (left-- > 0) {
      const status = await post();
      if (status !== 200) throw new Error(`the sink answered ${status}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / REQUESTS;
}

const body = createBody(BODY_BYTES);

function openOurs(guard, url) {
  const client = openHttpClient({
    guard,
    allowHttp: true,
    clock: createSystemClock(),
    connectionsPerHost: 2 * CONNECTIONS,
  });
  const request = { method: "POST", url: `${url}/hook`, headers: HEADERS, body, timeoutMs: TIMEOUT_MS };
  return {
    post: () => new Promise((resolve) => client.request(request, ({ kind, status }) => resolve(status ?? kind))),
    close: () => client.close(),
  };
}

/** By its fastest way, and with no more of what the gateway does for an attempt than the guard. */
function openUndici(guard, url) {
  const connectAny = buildConnector({});
  const connect = (to, done) => {
    if (!guard.judge(to.hostname).allowed) return done(new Error("blocked"), null);
    return connectAny(to, (error, socket) => {
      if (error === null && !guard.judge(socket.remoteAddress).allowed) return done(new Error("blocked"), null);
      done(error, socket);
    });
  };
  const pool = new Pool(url, { connect, connections: CONNECTIONS, pipelining: 1, headersTimeout: TIMEOUT_MS });
  const request = { method: "POST", path: "/hook", headers: HEADERS, body };
  return {
    post: () => new Promise((resolve, reject) => pool.dispatch(request, createTaker(resolve, reject))),
    close: () => pool.close(),
  };
}

function createTaker(resolve, reject) {
  let status;
  return {
    onRequestStart() {},
    onResponseStart(_controller, statusCode) {
      status = statusCode;
    },
    onResponseData() {},
    onResponseEnd: () => resolve(status),
    onResponseError: (_controller, error) => reject(error),
  };
}
