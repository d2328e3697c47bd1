import { timingSafeEqual } from "node:crypto";
import { Type } from "typebox";
import { PosthornError } from "../../src/model/errors.ts";
import { createHmacKey, type HmacKey } from "../../src/model/signature.ts";
import { TEXT_SECRET } from "../../src/model/secrets.ts";
import { readManifest, type Manifest, type SheetNames } from "./manifests.ts";
import { findWebhookId, readCallback, readCallbackEvent, type Callback } from "./callback.ts";
import type {
  ArrivedRequest,
  KindAnswer,
  KindSettings,
  ReadEvent,
  Reading,
  PushedSourceKind,
} from "../../src/sources/source-kind.ts";

export const SMARTSHEET_KIND = "smartsheet";

/** What the kind of source needs from the rest of the gateway. */
export interface SmartsheetContext {
  /** Throws `unavailable` while the file cannot be read. */
  findSheets(manifest: Manifest): SheetNames;
  /** The webhooks registered for the source; undefined when none was ever registered here. */
  findWebhooks(source: string): RegisteredWebhooks | undefined;
  /** Called when Smartsheet reports another state of a webhook. Resolves when it is on disk. */
  noteStatus(change: WebhookStatusChange): Promise<void>;
}

export interface RegisteredWebhooks {
  /** By webhook id; all secrets that are valid now. */
  readonly secrets: ReadonlyMap<string, readonly string[]>;
}

export interface WebhookStatusChange {
  source: string;
  webhookId: string;
  sheetId: string | undefined;
  status: string;
  at: number;
}

const Options = Type.Object(
  {
    ordering: Type.Optional(
      Type.Union([Type.Literal("sheet"), Type.Literal("row")], {
        default: "sheet",
        description: "What an ordered subscription keeps in order: all events of a sheet, or the events of each row",
      }),
    ),
    ignore_change_agents: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
        maxItems: 100,
        description: "Changes with one of these names in `Smartsheet-Change-Agent` were made by your own app",
      }),
    ),
  },
  { additionalProperties: false },
);

const JSON_TYPE = "application/json";
const MAX_CHALLENGE_BYTES = 64 * 1024;
/** Today a UUID. It is sent back in a header. */
const CHALLENGE = /^[\x21-\x7e]{1,256}$/;
const STATUS = /^[A-Z][A-Z_]{0,63}$/;
const SIGNATURE = /^[0-9a-fA-F]{1,64}$/;
/** Reading this many events blocks the event loop for 3 ms. */
const STEP = 500;
const MAX_KEYS = 1000;

/**
 * Smartsheet's callbacks: several changes in one request, none with its own id. Only an answer of exactly 200
 * counts as success; after 202 Smartsheet disables the webhook.
 */
export function createSmartsheetKind(context: SmartsheetContext): PushedSourceKind {
  const keys = new Map<string, HmacKey>();

  function isSigned(body: Buffer, signature: Buffer, secret: string): boolean {
    let key = keys.get(secret);
    if (key === undefined) {
      if (keys.size >= MAX_KEYS) keys.clear();
      key = createHmacKey(Buffer.from(secret));
      keys.set(secret, key);
    }
    return timingSafeEqual(Buffer.from(key.digest("", body, "hex"), "latin1"), signature);
  }

  /** Each registered webhook signs with its own secret. */
  function listSecrets({ source, secrets }: KindSettings, body: Buffer): readonly string[] {
    const registered = context.findWebhooks(source)?.secrets;
    if (registered === undefined || registered.size === 0) return secrets;
    const webhookId = findWebhookId(body);
    const own = webhookId === undefined ? undefined : registered.get(webhookId);
    if (own !== undefined) return [...own, ...secrets];
    // Otherwise a sender could make the gateway hash megabytes once for each sheet.
    return body.length > MAX_CHALLENGE_BYTES ? secrets : [...secrets, ...[...registered.values()].flat()];
  }

  /** Whether there is any secret to verify with, even if not for this callback. */
  function needsSignature({ source, secrets }: KindSettings): boolean {
    return secrets.length > 0 || (context.findWebhooks(source)?.secrets.size ?? 0) > 0;
  }

  function readEvents(request: ArrivedRequest, settings: KindSettings, callback: Callback): Reading | Promise<Reading> {
    const spans = callback.events ?? [];
    if (spans.length === 0) return ignore(callback.events === undefined ? "invalid" : "no_events");
    const { manifest } = settings;
    if (manifest !== undefined && !context.findSheets(manifest).has(callback.scopeId)) return ignore("unknown_context");
    const events: ReadEvent[] = [];
    const ignored: { cause: string }[] = [];
    const byRow = settings.options["ordering"] === "row";
    const own = settings.options["ignore_change_agents"] as readonly string[] | undefined;

    const readSome = (from: number, to: number): void => {
      for (let at = from; at < to; at++) {
        const span = spans[at];
        const event = span === undefined ? undefined : readCallbackEvent(request.body, span, callback, settings.source);
        if (event === undefined) {
          ignored.push({ cause: "invalid" });
        } else if (own !== undefined && isOwn(event.changeAgent, own)) {
          ignored.push({ cause: "own_change" });
        } else {
          events.push({
            type: `smartsheet.${event.name}`,
            id: event.eventId,
            identity: event.eventId,
            orderingKey: (byRow ? event.rowId : undefined) ?? callback.scopeId,
            occurredAt: event.occurredAt,
            body: Buffer.from(event.json),
            contentType: JSON_TYPE,
          });
        }
      }
    };
    const reading = { events, ignored };
    if (spans.length <= STEP) {
      readSome(0, spans.length);
      return reading;
    }
    return readInTurns(spans.length, readSome).then(() => reading);
  }

  /** The state of a webhook is not a change of a sheet: the gateway reports it as `source.disabled`, if at all. */
  async function readStatus(
    { receivedAt }: ArrivedRequest,
    { source }: KindSettings,
    { webhookId, scopeId: sheetId }: Callback,
    status: string,
  ): Promise<Reading> {
    await context.noteStatus({ source, webhookId, sheetId, status, at: receivedAt });
    return ignore("webhook_status");
  }

  return {
    name: SMARTSHEET_KIND,
    options: Options,
    needsSecret: false,
    secretForm: () => TEXT_SECRET,
    only: ["row.*", "attachment.*"],
    checkManifest: (manifest) => void readManifest(manifest),

    handshake(request, settings) {
      const challenge = request.headers["smartsheet-hook-challenge"];
      if (challenge === undefined) return undefined;
      if (request.body.length > MAX_CHALLENGE_BYTES) {
        throw new PosthornError("too_large", `A challenge may have at most ${MAX_CHALLENGE_BYTES} bytes.`);
      }
      if (typeof challenge !== "string" || !CHALLENGE.test(challenge)) {
        throw new PosthornError("bad_request", "Smartsheet-Hook-Challenge must be 1 to 256 printable characters.");
      }
      const registered = context.findWebhooks(settings.source)?.secrets;
      const webhookId = findWebhookId(request.body);
      if (registered !== undefined && (webhookId === undefined || !registered.has(webhookId))) {
        throw new PosthornError(
          "unknown_webhook",
          `The webhook ${webhookId ?? "without an id"} was not registered for the source "${settings.source}".`,
        );
      }
      return {
        status: 200,
        headers: { "content-type": JSON_TYPE, "smartsheet-hook-response": challenge },
        body: JSON.stringify({ smartsheetHookResponse: challenge }),
      };
    },

    verify(request, settings) {
      if (!needsSignature(settings)) return;
      const given = request.headers["smartsheet-hmac-sha256"];
      if (typeof given !== "string" || !SIGNATURE.test(given)) {
        throw new PosthornError("bad_signature", "Smartsheet-Hmac-SHA256 is missing or is not a hexadecimal HMAC.");
      }
      // Smartsheet's own sample code drops leading zeros.
      const signature = Buffer.from(given.toLowerCase().padStart(64, "0"), "latin1");
      for (const secret of listSecrets(settings, request.body)) {
        if (isSigned(request.body, signature, secret)) return;
      }
      throw new PosthornError("bad_signature", "Smartsheet-Hmac-SHA256 does not match the body with any valid secret.");
    },

    events(request, settings, form) {
      if (form.kind !== "json") {
        throw new PosthornError("unreadable_body", "A callback of Smartsheet is JSON. Send it as application/json.");
      }
      const callback = readCallback(request.body);
      if (callback === undefined) return ignore("invalid");
      const { newStatus } = callback;
      if (newStatus !== undefined) {
        return STATUS.test(newStatus) ? readStatus(request, settings, callback, newStatus) : ignore("invalid");
      }
      return readEvents(request, settings, callback);
    },

    answer(result): KindAnswer {
      return { status: 200, headers: { "content-type": JSON_TYPE }, body: JSON.stringify(describeResult(result)) };
    },
  };
}

function describeResult(result: Parameters<NonNullable<PushedSourceKind["answer"]>>[0]): Record<string, unknown> {
  switch (result.kind) {
    case "stored":
      return { status: "queued", events: 1 };
    case "several":
      return { status: "queued", events: result.eventIds.length };
    case "duplicate":
      return { status: "duplicate", event_id: result.eventId };
    case "ignored":
      return { status: "ignored", cause: result.cause };
  }
}

/** A callback of two megabytes may hold ten thousand events, so other work runs in between. */
async function readInTurns(count: number, readSome: (from: number, to: number) => void): Promise<void> {
  for (let from = 0; from < count; from += STEP) {
    if (from > 0) await new Promise(setImmediate);
    readSome(from, Math.min(count, from + STEP));
  }
}

function ignore(cause: string): Reading {
  return { events: [], ignored: [{ cause }] };
}

/** A comma-separated list: each app on the way may add its name. */
function isOwn(changeAgent: string | undefined, own: readonly string[]): boolean {
  if (changeAgent === undefined) return false;
  return changeAgent.split(",").some((name) => own.includes(name.trim()));
}
