import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { gunzipSync, inflateSync } from "node:zlib";

/**
 * A target on loopback that behaves like n8n 2.8: while it starts it answers in ways that look like success or like a
 * lasting failure, and are neither. What it accepted is an execution; it knows no duplicates.
 */
export interface N8nServer {
  /** Without a path: `…/webhook/NAME` are its webhooks. */
  readonly url: string;
  readonly port: number;
  readonly phase: N8nPhase;
  /** What ran, in the order of its coming. */
  readonly executions: readonly N8nExecution[];
  /** How many requests for webhooks, and for its health, each phase has answered. */
  readonly answered: Readonly<Record<N8nPhase, number>>;
  readonly checked: Readonly<Record<N8nPhase, number>>;
  /** Goes to one phase and stays there. */
  enter(phase: N8nPhase): Promise<void>;
  /** From refused connections to `ready`, each phase for so long, and until it was seen if that is asked for. */
  boot(phaseMs: number, isSeen?: (phase: N8nPhase) => boolean): Promise<void>;
  /** A workflow is active from now on, or is not any more. Only with `webhooks`. */
  setActive(path: string, isActive: boolean): void;
  /** As when the power goes: open connections break, new ones are refused. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** In the order of a start. */
export const N8N_PHASES = ["down", "migrating", "no routes", "not registered", "ready"] as const;
export type N8nPhase = (typeof N8N_PHASES)[number];

export interface N8nExecution {
  method: string;
  /** After `/webhook/`, with its query. */
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes that came. */
  raw: Buffer;
  /** What a workflow sees as `$json.body`. */
  body: unknown;
}

export interface N8nOptions {
  /** Any free one when not given; kept through every stop and start. */
  port?: number;
  /** Paths with a workflow behind them; every path when not given. */
  webhooks?: readonly string[];
  /** What the workflows listen for; only POST when not given. */
  methods?: readonly string[];
  maxBytes?: number;
  /** The option of the Webhook node. */
  ignoreBots?: boolean;
}

const STARTING_UP = "n8n is starting up. Please wait";
const LOOK_EVERY_MS = 20;
const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const WEBHOOK = /^\/webhook\/([^?]+?)\/?(\?.*)?$/;

export async function openN8nServer(options: N8nOptions = {}): Promise<N8nServer> {
  const executions: N8nExecution[] = [];
  const answered = countByPhase();
  const checked = countByPhase();
  let phase: N8nPhase = "down";
  const webhooks = options.webhooks === undefined ? undefined : new Set(options.webhooks);
  const methods = new Set(options.methods ?? ["POST"]);
  let server: Server | undefined;
  let port = options.port ?? 0;

  async function listen(): Promise<void> {
    if (server !== undefined) return;
    const opened = createServer((request, response) => void take(request, response));
    await new Promise<void>((resolve, reject) => {
      opened.once("error", reject);
      opened.listen(port, "127.0.0.1", resolve);
    });
    ({ port } = opened.address() as AddressInfo);
    server = opened;
  }

  async function kill(): Promise<void> {
    const closing = server;
    server = undefined;
    phase = "down";
    if (closing === undefined) return;
    const closed = new Promise((resolve) => closing.close(resolve));
    closing.closeAllConnections();
    await closed;
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    // The phase when the whole request is there: that is when n8n looks for its webhook.
    answer(request, Buffer.concat(chunks), response);
  }

  function answer(request: IncomingMessage, sent: Buffer, response: ServerResponse): void {
    const { method = "GET", url = "/" } = request;
    if (method === "GET" && url.startsWith("/healthz")) checked[phase]++;
    if (method === "GET" && url === "/healthz") return sendJson(response, 200, { status: "ok" });
    if (method === "GET" && url === "/healthz/readiness") {
      // Before the webhooks are there: 2.8 says so more than a second too early.
      const isReady = phase !== "migrating";
      return sendJson(response, isReady ? 200 : 503, { status: isReady ? "ok" : "error" });
    }
    if (phase === "migrating") {
      answered[phase]++;
      return send(response, 200, "text/html; charset=utf-8", STARTING_UP);
    }
    const [, path, query = ""] = WEBHOOK.exec(url) ?? [];
    if (path === undefined || phase === "no routes") {
      if (path !== undefined) answered[phase]++;
      const page = `<!DOCTYPE html>\n<html lang="en"><body><pre>Cannot ${method} ${url}</pre></body></html>\n`;
      return send(response, 404, "text/html; charset=utf-8", page);
    }
    answered[phase]++;
    const isKnown = methods.has(method) && (webhooks?.has(path) ?? true);
    if (phase === "not registered" || !isKnown) {
      return sendJson(response, 404, {
        code: 404,
        message: `The requested webhook "${method} ${path}" is not registered.`,
        hint:
          "The workflow must be active for a production URL to run successfully. You can activate the workflow using " +
          "the toggle in the top-right of the editor.",
      });
    }
    run(request, path + query, sent, response);
  }

  function run(request: IncomingMessage, path: string, raw: Buffer, response: ServerResponse): void {
    const { method = "POST", headers } = request;
    if (options.ignoreBots === true && /bot/i.test(headers["user-agent"] ?? "")) {
      return sendJson(response, 403, { code: 403, message: "Authorization data is wrong!" });
    }
    if (raw.length > (options.maxBytes ?? DEFAULT_MAX_BYTES)) {
      return sendJson(response, 500, { code: 0, message: "There was a problem executing the workflow" });
    }
    let body: unknown;
    try {
      body = parseBody(headers["content-type"] ?? "", unpack(raw, headers["content-encoding"]));
    } catch {
      return sendJson(response, 422, { code: 422, message: "Failed to parse request body" });
    }
    executions.push({ method, path, headers, raw, body });
    sendJson(response, 200, { message: "Workflow was started" });
  }

  async function enter(next: N8nPhase): Promise<void> {
    if (next === "down") return kill();
    phase = next;
    await listen();
  }

  // The port is known, and refused until it boots.
  await listen();
  await kill();

  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    get port() {
      return port;
    },
    get phase() {
      return phase;
    },
    executions,
    answered,
    checked,
    enter,
    async boot(phaseMs, isSeen = () => true) {
      for (const next of N8N_PHASES) {
        await enter(next);
        if (next === "ready") return;
        await wait(phaseMs);
        // Nobody can be seen to be refused.
        if (next === "down") continue;
        while (!isSeen(next)) await wait(LOOK_EVERY_MS);
      }
    },
    setActive(path, isActive) {
      if (isActive) webhooks?.add(path);
      else webhooks?.delete(path);
    },
    kill,
    close: kill,
  };
}

function countByPhase(): Record<N8nPhase, number> {
  return { down: 0, migrating: 0, "no routes": 0, "not registered": 0, ready: 0 };
}

/** JSON only by exactly its own type; what is of a type that n8n does not know is an empty object. */
function parseBody(contentType: string, bytes: Buffer): unknown {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase();
  const text = bytes.toString("utf8");
  if (type === "application/json") return bytes.length === 0 ? {} : (JSON.parse(text) as unknown);
  if (type === "application/x-www-form-urlencoded") return Object.fromEntries(new URLSearchParams(text));
  return type === "text/plain" || type === "application/xml" || type === "text/xml" ? text : {};
}

function unpack(raw: Buffer, encoding: string | undefined): Buffer {
  if (encoding === "gzip") return gunzipSync(raw);
  return encoding === "deflate" ? inflateSync(raw) : raw;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, "application/json; charset=utf-8", JSON.stringify(value));
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text);
}
