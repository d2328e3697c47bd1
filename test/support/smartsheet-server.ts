import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseUrl } from "../../src/model/addresses.ts";

/**
 * Stands in for Smartsheet: its REST interface for webhooks, and the callbacks that follow from changes in sheets. Where
 * the documentation leaves something open, there is an option.
 */
export interface SmartsheetServer {
  /** For SMARTSHEET_API_HOST. */
  readonly apiHost: string;
  readonly token: string;
  readonly webhooks: readonly ServedWebhook[];
  /** Every REST request so far: `PUT /webhooks/123`. */
  readonly requests: readonly string[];
  /** Every callback that was sent, tries that failed included. */
  readonly callbacks: readonly SentCallback[];
  /** Changes in a sheet; goes out to whoever has an enabled webhook on it. What is disabled gets nothing, ever. */
  change(sheetId: string, events: readonly SheetEvent[]): void;
  /** Sends any text as a callback of the webhook, well signed. */
  sendRaw(webhookId: string, body: string): Promise<number>;
  /** Smartsheet itself puts a webhook into this state, and tells it to the callback URL. */
  setStatus(webhookId: string, status: string, options?: { quiet?: boolean }): Promise<void>;
  /** One that nobody registered through the gateway. */
  addWebhook(webhook: Partial<ServedWebhook> & Pick<ServedWebhook, "scopeObjectId" | "callbackUrl">): ServedWebhook;
  /** The next REST requests fail so, or the next like `POST /webhooks`. */
  failNext(failure: Failure, times?: number, on?: string): void;
  /** Resolves when no callback is under way or waits for another try. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface ServedWebhook {
  id: string;
  name: string;
  scope: string;
  scopeObjectId: string;
  callbackUrl: string;
  sharedSecret: string;
  enabled: boolean;
  status: string;
  disabledDetails: string | undefined;
  createdAt: string;
  callbackCount: number;
}

export interface SheetEvent {
  objectType: string;
  eventType: string;
  /** Ids are digits, so that any of them can be sent as a number. */
  id?: string;
  rowId?: string;
  columnId?: string;
  userId?: string;
  timestamp?: string;
  changeAgent?: string;
}

export interface SentCallback {
  webhookId: string;
  body: string;
  /** Undefined: no answer. */
  status: number | undefined;
  attempt: number;
}

/** `lost`: it is done, but the connection breaks before the answer. */
export type Failure = { status: number; errorCode: number } | "drop" | "lost" | "hang";

export interface SmartsheetServerOptions {
  token?: string;
  /** Real time is that much faster than Smartsheet's. */
  timeFactor?: number;
  /** Whether another try of a callback has the nonce of the first: the documentation does not say. */
  retryNonce?: "same" | "fresh";
  /** Only for tests: the service takes https alone. */
  allowHttpCallbacks?: boolean;
  /** More in a minute of real time get 429. */
  requestsPerMinute?: number;
}

const MAX_RETRIES = 14;
const EXPONENTIAL_RETRIES = 7;
const FIRST_RETRY_MS = 15_000;
const LATE_RETRY_MS = 3 * 3_600_000;
const CALLBACK_TIMEOUT_MS = 10_000;
const VERIFY_EVERY = 100;
const ALLOWED_PORTS = new Set(["", "443", "8000", "8008", "8080", "8443"]);

export async function startSmartsheetServer(options: SmartsheetServerOptions = {}): Promise<SmartsheetServer> {
  const { token = `token-${randomUUID()}`, timeFactor = 10_000, retryNonce = "same" } = options;
  const webhooks: ServedWebhook[] = [];
  const requests: string[] = [];
  const callbacks: SentCallback[] = [];
  const failures: { failure: Failure; on: string | undefined }[] = [];
  /** One callback at a time for each webhook; the next waits until the one before has ended. */
  const queues = new Map<string, Promise<void>>();
  const timers = new Set<{ timer: NodeJS.Timeout; end: () => void }>();
  const recent: number[] = [];
  let lastId = 4_503_604_829_677_444n;
  let isClosed = false;

  const server: Server = createServer((request, response) => {
    // A client may break off while its request is read.
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request);
    const url = new URL(request.url ?? "/", "http://smartsheet");
    const name = `${request.method} ${url.pathname.replace("/2.0", "")}`;
    requests.push(name);
    const planned = failures.findIndex(({ on }) => on === undefined || on === name);
    const failure = planned < 0 ? undefined : failures.splice(planned, 1)[0]?.failure;
    if (failure === "drop") return void request.socket.destroy();
    if (failure === "hang") return;
    if (typeof failure === "object") return fail(response, failure.status, failure.errorCode, "Injected failure.");
    const now = Date.now();
    while (recent.length > 0 && now - (recent[0] ?? 0) > 60_000) recent.shift();
    recent.push(now);
    if (recent.length > (options.requestsPerMinute ?? Infinity)) {
      return fail(response, 429, 4003, "Rate limit exceeded.");
    }
    if (request.headers.authorization !== `Bearer ${token}`) {
      return fail(response, 401, 1002, "Your Access Token is invalid.");
    }
    const answer = failure === "lost" ? { ...NO_ANSWER, socket: request.socket } : response;
    await route(request.method ?? "GET", url, body, answer as ServerResponse);
    if (failure === "lost") request.socket.destroy();
  }

  async function route(method: string, url: URL, body: string, response: ServerResponse): Promise<void> {
    const [, id, act] = /^\/2\.0\/webhooks(?:\/(\d+))?(?:\/(resetsharedsecret))?$/.exec(url.pathname) ?? [];
    if (!/^\/2\.0\/webhooks(\/|$)/.test(url.pathname)) return fail(response, 404, 1006, "Not Found");
    if (id === undefined) {
      if (method === "GET") return listPage(url, response);
      if (method === "POST") return create(JSON.parse(body) as Record<string, unknown>, response);
      return fail(response, 405, 1024, "The HTTP method is not supported.");
    }
    const webhook = webhooks.find((one) => one.id === id);
    if (webhook === undefined) return fail(response, 404, 1006, "Not Found");
    if (act !== undefined && method === "POST") {
      webhook.sharedSecret = newSecret();
      return send(response, `{"message":"SUCCESS","resultCode":0,"result":{"sharedSecret":"${webhook.sharedSecret}"}}`);
    }
    if (method === "GET") return send(response, toJson(webhook));
    if (method === "DELETE") {
      webhooks.splice(webhooks.indexOf(webhook), 1);
      return send(response, '{"message":"SUCCESS","resultCode":0}');
    }
    if (method === "PUT") return update(webhook, JSON.parse(body) as Record<string, unknown>, response);
    return fail(response, 405, 1024, "The HTTP method is not supported.");
  }

  function listPage(url: URL, response: ServerResponse): void {
    const page = Number(url.searchParams.get("page") ?? 1);
    const pageSize = Math.min(10_000, Number(url.searchParams.get("pageSize") ?? 100));
    // The latest first; totals are not told any more.
    const data = webhooks.toReversed().slice((page - 1) * pageSize, page * pageSize);
    send(
      response,
      `{"pageNumber":${page},"pageSize":${pageSize},"totalPages":-1,"totalCount":-1,"data":[${data.map(toJson).join(",")}]}`,
    );
  }

  function create(body: Record<string, unknown>, response: ServerResponse): void {
    const { name, callbackUrl, scope, scopeObjectId, events, version } = body;
    const isWhole = typeof name === "string" && typeof callbackUrl === "string" && scope === "sheet" && version === 1;
    if (!isWhole || typeof scopeObjectId !== "number" || JSON.stringify(events) !== '["*.*"]') {
      return fail(response, 400, 1008, "Unable to parse request.");
    }
    if (name.length > 50) return fail(response, 400, 1041, "The name is longer than 50 characters.");
    const problem = findUrlProblem(callbackUrl);
    if (problem !== undefined) return fail(response, 400, 1021, problem);
    const webhook = addWebhook({ name, callbackUrl, scopeObjectId: String(scopeObjectId) });
    send(response, `{"message":"SUCCESS","resultCode":0,"result":${toJson(webhook)}}`);
  }

  function findUrlProblem(text: string): string | undefined {
    const url = parseUrl(text);
    if (url === undefined) return "callbackUrl is not valid.";
    if (options.allowHttpCallbacks === true) return undefined;
    if (url.protocol !== "https:") return "callbackUrl must be https.";
    return ALLOWED_PORTS.has(url.port) ? undefined : "callbackUrl has a port that is not allowed.";
  }

  const addWebhook: SmartsheetServer["addWebhook"] = (given) => {
    lastId += 4n;
    const webhook: ServedWebhook = {
      id: String(lastId),
      name: "made by hand",
      scope: "sheet",
      sharedSecret: newSecret(),
      enabled: false,
      status: "NEW_NOT_VERIFIED",
      disabledDetails: undefined,
      createdAt: new Date(Date.now() + webhooks.length).toISOString(),
      callbackCount: 0,
      ...given,
    };
    webhooks.push(webhook);
    return webhook;
  };

  async function update(
    webhook: ServedWebhook,
    body: Record<string, unknown>,
    response: ServerResponse,
  ): Promise<void> {
    const { callbackUrl, enabled } = body;
    if (typeof callbackUrl === "string") webhook.callbackUrl = callbackUrl;
    if (enabled === false) disable(webhook, "DISABLED_BY_OWNER", "Disabled by owner");
    if (enabled === true && !webhook.enabled) {
      if (webhook.status === "DISABLED_APP_REVOKED") return fail(response, 400, 1153, "The app's access was revoked.");
      if (webhook.status === "DISABLED_ADMINISTRATIVE") {
        return fail(response, 400, 1154, "The webhook was disabled by Smartsheet.");
      }
      // The call does not return before the challenge is over.
      if (webhook.status !== "DISABLED_SCOPE_INACCESSIBLE") await verify(webhook);
    }
    send(response, `{"message":"SUCCESS","resultCode":0,"result":${toJson(webhook)}}`);
  }

  async function verify(webhook: ServedWebhook): Promise<void> {
    const challenge = randomUUID();
    const text = `{"challenge":"${challenge}","webhookId":${webhook.id}}`;
    const headers = { "content-type": "application/json", "smartsheet-hook-challenge": challenge };
    const answer = await post(webhook.callbackUrl, text, headers);
    const isRight =
      answer?.status === 200 &&
      (answer.header === challenge || answer.text === `{"smartsheetHookResponse":"${challenge}"}`);
    if (isRight) {
      webhook.enabled = true;
      webhook.status = "ENABLED";
      webhook.disabledDetails = undefined;
    } else {
      disable(webhook, "DISABLED_VERIFICATION_FAILED", `Verification failed: ${answer?.status ?? "no answer"}`);
    }
  }

  function disable(webhook: ServedWebhook, status: string, details: string): void {
    webhook.enabled = false;
    webhook.status = status;
    webhook.disabledDetails = details;
  }

  async function post(url: string, body: string, headers: Record<string, string>) {
    try {
      const signal = AbortSignal.timeout(CALLBACK_TIMEOUT_MS);
      const response = await fetch(url, { method: "POST", body, headers, redirect: "manual", signal });
      const text = await response.text();
      return { status: response.status, header: response.headers.get("smartsheet-hook-response"), text };
    } catch {
      return undefined;
    }
  }

  function sign(webhook: ServedWebhook, body: string): Record<string, string> {
    const hmac = createHmac("sha256", webhook.sharedSecret).update(body).digest("hex");
    return { "content-type": "application/json", "smartsheet-hmac-sha256": hmac };
  }

  function enqueue(webhook: ServedWebhook, build: (nonce: string) => string): Promise<void> {
    const last = queues.get(webhook.id) ?? Promise.resolve();
    const next = last.then(() => deliver(webhook, build));
    queues.set(webhook.id, next);
    return next;
  }

  async function deliver(webhook: ServedWebhook, build: (nonce: string) => string): Promise<void> {
    let nonce: string = randomUUID();
    for (let attempt = 1; ; attempt++) {
      if (isClosed) return;
      if (attempt > 1 && retryNonce === "fresh") nonce = randomUUID();
      const body = build(nonce);
      const status = (await post(webhook.callbackUrl, body, sign(webhook, body)))?.status;
      callbacks.push({ webhookId: webhook.id, body, status, attempt });
      if (status === 200) return countCallback(webhook);
      if (!isRetried(status) || attempt > MAX_RETRIES) {
        return disable(webhook, "DISABLED_CALLBACK_FAILED", `Callback failed: ${status ?? "no answer"}`);
      }
      await sleep((attempt <= EXPONENTIAL_RETRIES ? FIRST_RETRY_MS * 2 ** (attempt - 1) : LATE_RETRY_MS) / timeFactor);
    }
  }

  async function countCallback(webhook: ServedWebhook): Promise<void> {
    webhook.callbackCount++;
    if (webhook.callbackCount % VERIFY_EVERY === 0) await verify(webhook);
  }

  function sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const entry = { timer: setTimeout(() => end(), ms), end };
      function end(): void {
        clearTimeout(entry.timer);
        timers.delete(entry);
        resolve();
      }
      timers.add(entry);
    });
  }

  /** Of those that are the same but for their age, only the oldest that is enabled is called. */
  function listCalled(sheetId: string): ServedWebhook[] {
    const called = new Map<string, ServedWebhook>();
    for (const webhook of webhooks) {
      if (!webhook.enabled || webhook.scopeObjectId !== sheetId) continue;
      const rival = called.get(webhook.callbackUrl);
      if (rival === undefined || webhook.createdAt < rival.createdAt) called.set(webhook.callbackUrl, webhook);
    }
    return [...called.values()];
  }

  return {
    apiHost: `http://127.0.0.1:${port}/2.0/`,
    token,
    webhooks,
    requests,
    callbacks,
    addWebhook,
    change(sheetId, events) {
      const timestamp = smartsheetTime();
      const list = `[${events.map((event) => eventJson(event, timestamp)).join(",")}]`;
      for (const webhook of listCalled(sheetId)) {
        void enqueue(webhook, (nonce) => callbackJson(webhook, nonce, timestamp, `"events":${list}`));
      }
    },
    async sendRaw(webhookId, body) {
      const webhook = webhooks.find(({ id }) => id === webhookId);
      if (webhook === undefined) throw new Error(`no webhook ${webhookId}`);
      return (await post(webhook.callbackUrl, body, sign(webhook, body)))?.status ?? 0;
    },
    async setStatus(webhookId, status, { quiet = false } = {}) {
      const webhook = webhooks.find(({ id }) => id === webhookId);
      if (webhook === undefined) throw new Error(`no webhook ${webhookId}`);
      webhook.enabled = status === "ENABLED";
      webhook.status = status;
      webhook.disabledDetails = webhook.enabled ? undefined : "Set by Smartsheet";
      const timestamp = smartsheetTime();
      const member = `"newWebhookStatus":"${status}"`;
      if (!quiet) await enqueue(webhook, (nonce) => callbackJson(webhook, nonce, timestamp, member));
    },
    failNext(failure, times = 1, on) {
      for (let n = 0; n < times; n++) failures.push({ failure, on });
    },
    async idle() {
      await Promise.all(queues.values());
    },
    async close() {
      isClosed = true;
      for (const { end } of timers) end();
      await Promise.all(queues.values());
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a broken connection keeps from its receiver. */
const NO_ANSWER = { writeHead: () => undefined, end: () => undefined };

function isRetried(status: number | undefined): boolean {
  return status === undefined || (status >= 400 && status <= 599 && status !== 410);
}

function newSecret(): string {
  return BigInt(`0x${randomBytes(17).toString("hex")}`)
    .toString(36)
    .slice(0, 26);
}

/** `2015-10-27T17:04:23.795+0000`. */
function smartsheetTime(): string {
  return new Date().toISOString().replace("Z", "+0000");
}

function callbackJson({ id, scopeObjectId }: ServedWebhook, nonce: string, timestamp: string, rest: string): string {
  return `{"nonce":"${nonce}","timestamp":"${timestamp}","webhookId":${id},"scope":"sheet","scopeObjectId":${scopeObjectId},${rest}}`;
}

function eventJson(event: SheetEvent, now: string): string {
  const { objectType, eventType, id, rowId, columnId, userId = "9007194052434043", timestamp, changeAgent } = event;
  const ids = Object.entries({ id, rowId, columnId, userId }).filter(([, value]) => value !== undefined);
  const members = [
    `"objectType":"${objectType}","eventType":"${eventType}"`,
    ...ids.map(([name, value]) => `"${name}":${value}`),
    `"timestamp":"${timestamp ?? now}"`,
    ...(changeAgent === undefined ? [] : [`"changeAgent":${JSON.stringify(changeAgent)}`]),
  ];
  return `{${members.join(",")}}`;
}

function toJson(webhook: ServedWebhook): string {
  const { id, scopeObjectId, callbackCount, ...rest } = webhook;
  const stats = callbackCount === 0 ? {} : { lastSuccessfulCallback: new Date().toISOString() };
  const shown = JSON.stringify({ ...rest, events: ["*.*"], version: 1, stats, modifiedAt: rest.createdAt });
  return `{"id":${id},"scopeObjectId":${scopeObjectId},${shown.slice(1)}`;
}

function send(response: ServerResponse, json: string): void {
  response.writeHead(200, { "content-type": "application/json;charset=UTF-8" });
  response.end(json);
}

function fail(response: ServerResponse, status: number, errorCode: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json;charset=UTF-8" });
  response.end(JSON.stringify({ errorCode, message, refId: randomUUID() }));
}

async function readAll(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
