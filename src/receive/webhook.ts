import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../domain/clock.ts";
import { webhookKey } from "../domain/dedupe-key.ts";
import { ERRORS, PosthornError } from "../domain/errors.ts";
import { PRIORITIES, type Priority } from "../domain/event.ts";
import type { Place, Source } from "../domain/source.ts";
import type { IncomingEvent, IngestResult } from "../route/fan-out.ts";
import type { LoggedRequest } from "../store/store.ts";
import type { BodyChecker } from "./body-check.ts";
import { describeRequest, type RequestFacts } from "./request-facts.ts";
import type { SchemaChecker } from "./schema/schema-check.ts";
import type { ValidationChecker } from "./validation/validation-check.ts";
import type { WellFormed } from "./well-formed.ts";

/** One inbound request with its raw bytes. */
export interface WebhookRequest extends RequestFacts {
  source: Source;
  headers: IncomingHttpHeaders;
  body: Buffer;
  receivedAt: number;
}

export type WebhookResult = IngestResult | { kind: "refused"; error: PosthornError };

export interface WebhookReceiver {
  /** The source of a path, if it takes webhooks by this method now; else the reason why not is thrown. */
  open(name: string, method: string): Source;
  /** Checks, identifies and records a request. `done` is called once; what it reports as stored is on disk. */
  receive(request: WebhookRequest, done: (result: WebhookResult) => void): void;
  /** Keeps a request that made no event, with the reason. */
  log(request: Omit<WebhookRequest, "body">, cause: string, body: Buffer | undefined, size: number): void;
}

export interface WebhookReceiverOptions {
  findSource: (name: string) => Source | undefined;
  accept: (event: IncomingEvent, done: (result: IngestResult) => void) => void;
  logRequest: (request: LoggedRequest) => void;
  clock: Clock;
  createId: (prefix: "evt" | "req") => string;
  bodies: Pick<BodyChecker, "check">;
  schemas: Pick<SchemaChecker, "find" | "check">;
  validations: Pick<ValidationChecker, "check">;
}

const MAX_KEY_LENGTH = 255;
// Control characters and lone surrogates: text that would not come back as it went in.
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

export function createWebhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const { findSource, accept, clock, createId, bodies, schemas, validations } = options;

  function receive(request: WebhookRequest, done: (result: WebhookResult) => void): void {
    let checked: WellFormed | Promise<WellFormed>;
    try {
      checked = bodies.check(request.body, request.headers["content-type"], pointersOf(request.source));
    } catch (error) {
      return refuse(request, error, done);
    }
    if (checked instanceof Promise) {
      checked.then(
        (form) => validate(request, form, done),
        (error: unknown) => refuse(request, error, done),
      );
    } else {
      validate(request, checked, done);
    }
  }

  function validate(request: WebhookRequest, form: WellFormed, done: (result: WebhookResult) => void): void {
    let validated: Promise<void> | undefined;
    try {
      validated = validations.check(request.source.name, request, form);
    } catch (error) {
      return refuse(request, error, done);
    }
    if (validated === undefined) return record(request, form, done);
    validated.then(
      () => record(request, form, done),
      (error: unknown) => refuse(request, error, done),
    );
  }

  function record(request: WebhookRequest, form: WellFormed, done: (result: WebhookResult) => void): void {
    let event: IncomingEvent;
    let checked: Promise<void> | undefined;
    try {
      event = toEvent(request, form);
      const type = schemas.find(event.type);
      checked = type === undefined ? undefined : schemas.check(type, event, form.kind === "json");
    } catch (error) {
      return refuse(request, error, done);
    }
    if (checked === undefined) return keep(request, event, done);
    checked.then(
      () => keep(request, event, done),
      (error: unknown) => refuse(request, error, done),
    );
  }

  function keep(request: WebhookRequest, event: IncomingEvent, done: (result: WebhookResult) => void): void {
    accept(event, (result) => {
      if (result.kind === "duplicate") log(request, "duplicate", request.body, request.body.length, result.eventId);
      done(result);
    });
  }

  function toEvent(request: WebhookRequest, form: WellFormed): IncomingEvent {
    const { source, receivedAt } = request;
    const valueOf = (place: Place, field: string) => readPlace(place, field, request, form);
    return {
      id: createId("evt"),
      givenId: false,
      type: source.eventType,
      version: "1.0",
      source: source.name,
      tenantId: source.tenantId,
      priority: source.priorityFrom === undefined ? "normal" : toPriority(valueOf(source.priorityFrom, "priority")),
      origin: "webhook",
      occurredAt: receivedAt,
      receivedAt,
      dueAt: clock.now(),
      expiresAt: undefined,
      orderingKey: source.orderingKeyFrom === undefined ? undefined : valueOf(source.orderingKeyFrom, "ordering_key"),
      dedupeKey: dedupeKeyOf(request, source.idFrom === undefined ? undefined : valueOf(source.idFrom, "id")),
      contentType: request.headers["content-type"],
      request: describeRequest(request),
      details: undefined,
      body: request.body,
      fanOutCursor: undefined,
    };
  }

  function refuse(request: WebhookRequest, error: unknown, done: (result: WebhookResult) => void): void {
    const known = error instanceof PosthornError ? error : undefined;
    // Our own trouble is no entry in the sender's log.
    const isSendersFault = known !== undefined && ERRORS[known.code].status < 500;
    if (isSendersFault) log(request, known.code, request.body, request.body.length);
    done({
      kind: "refused",
      error: known ?? new PosthornError("internal_error", "The webhook could not be read.", { cause: error }),
    });
  }

  function log(
    request: Omit<WebhookRequest, "body">,
    cause: string,
    body: Buffer | undefined,
    size: number,
    eventId?: string,
  ): void {
    const { source } = request;
    options.logRequest({
      id: createId("req"),
      ring: source.declared ? source.name : "*",
      source: source.name,
      tenantId: source.tenantId,
      receivedAt: request.receivedAt,
      facts: describeRequest(request),
      outcome: cause === "duplicate" ? "ignored" : "rejected",
      cause,
      eventId,
      size,
      body,
    });
  }

  return {
    open(name, method) {
      const source = findSource(name);
      if (source === undefined) {
        throw new PosthornError("unknown_source", `There is no source "${name}". Declare it, or turn the * source on.`);
      }
      if (source.status === "closed") throw new PosthornError("gone", `The source "${name}" is closed.`);
      if (source.status === "paused") {
        throw new PosthornError("source_paused", `The source "${name}" is paused. Try again later.`, {
          retryAfterS: 60,
        });
      }
      if (!source.methods.includes(method)) {
        throw new PosthornError(
          "method_not_allowed",
          `The source "${name}" takes ${source.methods.join(", ")}, not ${method}.`,
          {
            details: { allow: source.methods },
          },
        );
      }
      return source;
    },
    receive,
    log,
  };
}

function readPlace(place: Place, field: string, request: WebhookRequest, form: WellFormed): string | undefined {
  const text = place.in === "header" ? readHeader(request, place.name) : readBody(place, request, form);
  if (text === undefined) return undefined;
  if (text.length > MAX_KEY_LENGTH || UNPRINTABLE.test(text)) {
    throw new PosthornError(
      "invalid_field",
      `The value for ${field} is longer than ${MAX_KEY_LENGTH} characters or holds a control character.`,
      { field },
    );
  }
  return text === "" ? undefined : text;
}

function readHeader(request: WebhookRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function readBody(place: BodyPlace, request: WebhookRequest, form: WellFormed): string | undefined {
  return form.texts[pointersOf(request.source).indexOf(place.pointer)];
}

type BodyPlace = Extract<Place, { in: "body" }>;

function pointersOf({ idFrom, orderingKeyFrom, priorityFrom }: Source): readonly (readonly string[])[] {
  const places = [idFrom, orderingKeyFrom, priorityFrom];
  return places.filter((place): place is BodyPlace => place?.in === "body").map(({ pointer }) => pointer);
}

/** An unknown word is no reason to refuse a webhook: it goes as normal. */
function toPriority(text: string | undefined): Priority {
  return PRIORITIES.find((priority) => priority === text?.toLowerCase()) ?? "normal";
}

/**
 * A configured id decides alone. On undeclared sources the usual headers count only together with the body, because
 * nobody promised what they mean there.
 */
function dedupeKeyOf(request: WebhookRequest, configuredId: string | undefined): string | undefined {
  const { source, body } = request;
  if (source.idFrom !== undefined) {
    return configuredId === undefined ? undefined : webhookKey(source.name, configuredId);
  }
  if (source.declared) return undefined;
  const id = readHeader(request, "webhook-id") ?? readHeader(request, "idempotency-key");
  if (id === undefined || id === "") return undefined;
  return webhookKey(source.name, createHash("sha256").update(`${id}\0`).update(body).digest("base64url"));
}
