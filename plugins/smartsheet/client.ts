import type { SmartsheetClient as Sdk } from "smartsheet";
import type { Clock, Random } from "../../src/model/clock.ts";
import { PosthornError } from "../../src/model/errors.ts";
import { parseUrl } from "../../src/model/addresses.ts";

/**
 * Smartsheet's API for webhooks, through its own package. The package waits forever and does not report network
 * errors, so every call here has a deadline and is retried where that does no harm.
 */
export interface SmartsheetClient {
  /** All webhooks that this token can see, page by page until a page is not full. */
  listWebhooks(): Promise<RemoteWebhook[]>;
  getWebhook(id: string): Promise<RemoteWebhook>;
  /**
   * Creates a webhook, not enabled yet. Rejects with `smartsheet_failed` and `mayHaveHappened` when it is unknown
   * whether it was created: then look first.
   */
  createWebhook(webhook: NewWebhook): Promise<RemoteWebhook>;
  /** Resolves when Smartsheet has sent its challenge and received the answer. */
  enableWebhook(id: string): Promise<RemoteWebhook>;
  deleteWebhook(id: string): Promise<void>;
  /** Rejects all waiting calls, because the gateway stops. */
  close(): void;
}

export interface NewWebhook {
  name: string;
  callbackUrl: string;
  sheetId: string;
}

export interface RemoteWebhook {
  id: string;
  name: string;
  scope: string;
  scopeId: string;
  callbackUrl: string;
  status: string;
  /** For people. */
  disabledDetails: string | undefined;
  sharedSecret: string | undefined;
  createdAt: string | undefined;
  lastCallbackAt: string | undefined;
}

export interface SmartsheetClientOptions {
  accessToken: string;
  apiHost: string | undefined;
  clock: Clock;
  random: Pick<Random, "next">;
  userAgent: string;
  /** The timeout of each call. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
const MINUTE_MS = 60_000;
const MAX_TRIES = 5;
const PAGE_SIZE = 100;
const REQUESTS_PER_MINUTE = 300;
/** The wait that Smartsheet asks for after "Rate limit exceeded". */
const RATE_LIMIT_WAIT_MS = MINUTE_MS;
const DEFAULT_API_HOST = "https://api.smartsheet.com/2.0/";
const RATE_LIMITED = 4003;
const NOT_FOUND = 1006;
/** Temporary errors: maintenance, a timeout on Smartsheet's side, an unexpected error. */
const PASSING: ReadonlySet<number> = new Set([4001, 4002, 4004]);

type Sent = "once" | "again";

export function createSmartsheetClient(options: SmartsheetClientOptions): SmartsheetClient {
  const { clock, random, timeoutMs = TIMEOUT_MS } = options;
  const limit = createRequestLimit({ clock, perMinute: REQUESTS_PER_MINUTE });
  let loading: Promise<Sdk> | undefined;
  const waiting = new Set<(error: PosthornError) => void>();
  let isClosed = false;

  async function load(): Promise<Sdk> {
    const { createClient } = await import("smartsheet").catch((error: unknown) => {
      throw new PosthornError(
        "conflict",
        'Smartsheet\'s webhooks are managed with the package "smartsheet", which is not installed. Run ' +
          "`npm install smartsheet@5.3.0` where Posthorn is installed.",
        { cause: error },
      );
    });
    return createClient({
      accessToken: options.accessToken,
      baseUrl: toBaseUrl(options.apiHost),
      userAgent: options.userAgent,
      // The package would retry on its own for 15 seconds, without being counted.
      calcRetryBackoff: () => -1,
    });
  }

  /** `once`: doing it twice would do harm, so it is retried only after a definite rejection. */
  function call<Result>(what: string, sent: Sent, run: (sdk: Sdk) => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      waiting.add(reject);
      callAgain(what, sent, run)
        .then(resolve, reject)
        .finally(() => waiting.delete(reject));
    });
  }

  async function callAgain<Result>(what: string, sent: Sent, run: (sdk: Sdk) => Promise<Result>): Promise<Result> {
    loading ??= load();
    const sdk = await loading.catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    for (let tries = 1; ; tries++) {
      await limit.take();
      if (isClosed) throw shuttingDown();
      const failure = await withDeadline(run(sdk)).then((result) => ({ result }), readFailure);
      if ("result" in failure) return failure.result;
      const isPassing = failure.isRateLimit || (failure.isPassing && sent === "again");
      if (!isPassing || tries === MAX_TRIES) throw toError(what, failure);
      await wait(failure.isRateLimit ? RATE_LIMIT_WAIT_MS : 1000 * 2 ** (tries - 1) * (1 + random.next() / 5));
    }
  }

  function withDeadline<Result>(running: Promise<Result>): Promise<Result> {
    const tooLate = new Error("it gave no answer in time");
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(clock.now() + timeoutMs, () => reject(tooLate));
      running.then(resolve, reject).finally(() => timer.cancel());
    });
  }

  function wait(ms: number): Promise<void> {
    return new Promise((resolve) => void clock.setTimer(clock.now() + ms, resolve));
  }

  return {
    async listWebhooks() {
      const webhooks: RemoteWebhook[] = [];
      for (let page = 1; ; page++) {
        const queryParameters = { page, pageSize: PAGE_SIZE };
        const { data } = await call("list webhooks", "again", (sdk) => sdk.webhooks.listWebhooks({ queryParameters }));
        webhooks.push(...data.map(readWebhook));
        // Smartsheet now returns -1 for the numbers of pages and items.
        if (data.length < PAGE_SIZE) return webhooks;
      }
    },
    async getWebhook(id) {
      const webhookId = toNumber(id);
      return readWebhook(await call("read a webhook", "again", (sdk) => sdk.webhooks.getWebhook({ webhookId })));
    },
    async createWebhook({ name, callbackUrl, sheetId }) {
      const body = { name, callbackUrl, scope: "sheet", scopeObjectId: toNumber(sheetId), events: ["*.*"], version: 1 };
      const made = await call("make a webhook", "once", (sdk) =>
        sdk.webhooks.createWebhook({ body: body as CreateBody }),
      );
      return readWebhook(made.result);
    },
    async enableWebhook(id) {
      const webhookId = toNumber(id);
      const made = await call("enable a webhook", "again", (sdk) =>
        sdk.webhooks.updateWebhook({ webhookId, body: { enabled: true } }),
      );
      return readWebhook(made.result);
    },
    async deleteWebhook(id) {
      const webhookId = toNumber(id);
      await call("delete a webhook", "again", (sdk) => sdk.webhooks.deleteWebhook({ webhookId })).catch(
        (error: unknown) => {
          // Already deleted counts as success, perhaps by an earlier call whose answer was lost.
          if (!(error instanceof PosthornError) || error.details?.["error_code"] !== NOT_FOUND) throw error;
        },
      );
    },
    close() {
      isClosed = true;
      for (const reject of waiting) reject(shuttingDown());
    },
  };
}

/** Limits requests per minute; further ones wait in their order. */
export function createRequestLimit({ clock, perMinute }: { clock: Clock; perMinute: number }) {
  /** When each of the latest requests starts or started, earliest first. */
  const times: number[] = [];
  return {
    take(): Promise<void> {
      const now = clock.now();
      const earliest = times.length < perMinute ? now : (times.shift() ?? now) + MINUTE_MS;
      const at = Math.max(now, earliest);
      times.push(at);
      if (at <= now) return Promise.resolve();
      return new Promise((resolve) => void clock.setTimer(at, resolve));
    },
  };
}

type CreateBody = NonNullable<Parameters<Sdk["webhooks"]["createWebhook"]>[0]["body"]>;
type SdkWebhook = Awaited<ReturnType<Sdk["webhooks"]["getWebhook"]>>;

function readWebhook(webhook: SdkWebhook): RemoteWebhook {
  return {
    id: String(webhook.id),
    name: webhook.name,
    scope: webhook.scope,
    scopeId: String(webhook.scopeObjectId),
    callbackUrl: webhook.callbackUrl,
    status: webhook.status ?? "UNKNOWN",
    disabledDetails: webhook.disabledDetails,
    sharedSecret: webhook.sharedSecret,
    createdAt: toText(webhook.createdAt),
    lastCallbackAt: toText(webhook.stats?.lastSuccessfulCallback),
  };
}

function toText(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

/** The package accepts ids as numbers only. */
function toNumber(id: string): number {
  const number = Number(id);
  if (Number.isSafeInteger(number)) return number;
  throw new PosthornError("smartsheet_failed", `Smartsheet's package cannot send the id ${id}: it is beyond 2^53.`);
}

function shuttingDown(): PosthornError {
  return new PosthornError("shutting_down", "The gateway is shutting down.", { retryAfterS: 2 });
}

interface Failure {
  isPassing: boolean;
  isRateLimit: boolean;
  /** Undefined when there was no answer. */
  status: number | undefined;
  errorCode: number | undefined;
  message: string;
}

/** The errors of the package: an answer of Smartsheet or, for any network error, an empty object. */
function readFailure(error: unknown): Failure {
  const { statusCode, errorCode, message } = (error ?? {}) as Partial<Record<string, unknown>>;
  const status = typeof statusCode === "number" ? statusCode : undefined;
  const code = typeof errorCode === "number" ? errorCode : undefined;
  return {
    isRateLimit: status === 429 || code === RATE_LIMITED,
    isPassing: status === undefined || status >= 500 || (code !== undefined && PASSING.has(code)),
    status,
    errorCode: code,
    message: typeof message === "string" && message !== "" ? message : "it could not be reached",
  };
}

function toError(what: string, { status, errorCode, message }: Failure): PosthornError {
  const code = errorCode === undefined ? "" : `, error ${errorCode}`;
  const where = status === undefined ? "" : ` (status ${status}${code})`;
  return new PosthornError("smartsheet_failed", `Smartsheet did not ${what}: ${message}${where}.`, {
    details: { error_code: errorCode, status_code: status, may_have_happened: status === undefined || status >= 500 },
  });
}

/** The form that the package needs: `https://api.smartsheet.eu/2.0/`. A bare host is accepted, too. */
function toBaseUrl(host: string | undefined): string {
  if (host === undefined) return DEFAULT_API_HOST;
  const text = /^https?:\/\//.test(host) ? host : `https://${host}`;
  const url = parseUrl(text);
  const isSafe = url?.protocol === "https:" || /^(127\.|localhost$|\[::1\]$)/.test(url?.hostname ?? "");
  if (url === undefined || !isSafe) {
    throw new PosthornError(
      "conflict",
      `SMARTSHEET_API_HOST: "${host}" is not an https URL such as ${DEFAULT_API_HOST}.`,
    );
  }
  const path = url.pathname === "/" ? "/2.0/" : url.pathname.replace(/\/*$/, "/");
  return url.origin + path;
}
