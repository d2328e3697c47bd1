import { createHash } from "node:crypto";
import type { Clock } from "../model/clock.ts";
import { publishKey, replayKey, webhookKey } from "../model/ids.ts";
import { ERRORS, PosthornError } from "../model/errors.ts";
import {
  addDetail,
  EVENT_TYPE_MAX_LENGTH,
  EVENT_TYPE_PATTERN,
  PRIORITIES,
  type Priority,
  hopsDetail,
  readHops,
} from "../model/event.ts";
import { readTrace, traceDetail } from "../model/trace-context.ts";
import { isGatewayEventType, matchesPattern } from "../model/pattern.ts";
import type { RequestField, Source } from "../model/source.ts";
import type { IncomingEvent } from "../accept/fan-out.ts";
import { after, orElse, type MaybePromise } from "../model/accepted.ts";
import type { AdoptedEvent, MessageFacts } from "./messages/open-message.ts";
import { describeRequest, type WebhookRequest } from "./request.ts";
import { GENERIC } from "../sources/generic.ts";
import { hashOf, MAX_KEY_LENGTH, toKey, UNPRINTABLE } from "../sources/request-reading.ts";
import type { ReadEvent, Reading, SourceKind } from "../sources/source-kind.ts";
import type { BodyChecker, WellFormed } from "../sandbox/text/body-check.ts";
import type { ValidationChecker } from "../sandbox/checks/validation-check.ts";

const EVENT_TYPE = new RegExp(EVENT_TYPE_PATTERN);
/** The end of the year 9999. */
const MAX_TIME = 253_402_300_799_999;

/** A request whose body is known to be well-formed. */
export interface ReadRequest {
  readonly request: WebhookRequest;
  readonly kind: SourceKind;
  readonly form: WellFormed;
  /** The errors of its endpoint's validation, if its events are kept nevertheless. */
  readonly objection: PosthornError | undefined;
  /** What its kind read from it; undefined when the request itself is the event. */
  readonly reading: Reading | undefined;
}

export interface ReaderOptions {
  bodies: Pick<BodyChecker, "check">;
  validations?: Pick<ValidationChecker, "check"> | undefined;
}

/** A request that was already checked where it came in first. */
const UNREAD: WellFormed = { kind: "other", texts: [] };

/** Checks that a body is well-formed and fits its endpoint's validation, and reads what its kind finds in it. */
export function createReader({ bodies, validations }: ReaderOptions) {
  function checkBody(request: WebhookRequest): MaybePromise<WellFormed> {
    const { body, headers, source } = request;
    return bodies.check(body, headers["content-type"], source.pointers, request);
  }

  /** The errors of its validation; thrown if the sender should learn of them. */
  function findObjection(
    request: WebhookRequest,
    kind: SourceKind,
    form: WellFormed,
  ): MaybePromise<PosthornError | undefined> {
    if (validations === undefined) return undefined;
    return orElse<PosthornError | undefined>(
      () => after(validations.check(request.source.name, request, form), () => undefined),
      (error) => keepInvalid(kind, error),
    );
  }

  return (request: WebhookRequest, kind: SourceKind): MaybePromise<ReadRequest> => {
    const { settings } = request.source;
    if (request.pulled?.adopted?.isChecked === true) {
      return { request, kind, form: UNREAD, objection: undefined, reading: undefined };
    }
    return after(checkBody(request), (form) =>
      after(findObjection(request, kind, form), (objection) =>
        after(kind.events?.(request, settings, form), (reading) => ({ request, kind, form, objection, reading })),
      ),
    );
  };
}

/**
 * The reason why an event is stored as invalid, without deliveries; other errors are thrown. Nobody here can ask a
 * provider to correct its events, and after 4xx it would drop them. A queue parks them.
 */
export function keepInvalid(kind: SourceKind, error: unknown): PosthornError {
  const isKept =
    kind !== GENERIC && kind.isPulled !== true && error instanceof PosthornError && ERRORS[error.code].status === 422;
  if (isKept) return error;
  throw error;
}

/** It must not block the same event once the schema is corrected, so it uses neither its id nor its key. */
export function toInvalidEvent(
  event: IncomingEvent,
  error: PosthornError,
  createId: (prefix: "evt") => string,
): IncomingEvent {
  const { id, givenId, source, dedupeKey, details } = event;
  const errors = error.details?.["errors"] ?? [{ path: "", message: error.message }];
  return {
    ...event,
    id: givenId ? createId("evt") : id,
    givenId: false,
    dedupeKey: dedupeKey === undefined ? undefined : webhookKey(source, `\0invalid\0${dedupeKey}`),
    replayKey: undefined,
    details: addDetail(details, `"schema_result":${JSON.stringify({ valid: false, errors })}`),
  };
}

/** Why the source may not send an event of this type. */
export function findUnwanted(source: Source, type: string): "filtered" | "invalid" | undefined {
  if (source.only !== undefined && !isLetThrough(source, type)) return "filtered";
  return type !== source.eventType && !isLegalType(type) ? "invalid" : undefined;
}

/** Identifies the request if its source rejects replays. */
export function findReplayKey(request: WebhookRequest, kind: SourceKind): string | undefined {
  const { source, keptAs } = request;
  if (!source.refusesReplays || keptAs !== undefined || kind.isPulled === true) return undefined;
  const mark = kind.replayMark?.(request, source.settings);
  return mark === undefined ? undefined : replayKey(source.name, mark);
}

export interface WebhookEventOptions {
  clock: Clock;
  createId: (prefix: "evt") => string;
}

interface FoundEvent {
  /** What the kind of source read from the request, if it reads it. */
  readonly read: ReadEvent | undefined;
  /** Identifies a repetition of the same request; see `NewEvent`. */
  readonly replayKey?: string | undefined;
  /** The stored description of the request, if it was already written. */
  readonly kept?: string | undefined;
}

/** Creates one event from a request. */
export function createWebhookEvents({ clock, createId }: WebhookEventOptions) {
  return (request: WebhookRequest, form: WellFormed, { read, replayKey, kept }: FoundEvent): IncomingEvent => {
    const { source, receivedAt, pulled } = request;
    if (pulled?.adopted !== undefined) return adoptEvent(request, form, pulled, pulled.adopted, { clock, createId });
    const valueOf = (place: RequestField, field: string) => readPlace(place, field, request, form);
    const configuredId = source.idFrom === undefined ? undefined : valueOf(source.idFrom, "id");
    // A message was named when it was opened, also by what `idFrom` finds in it.
    const isNamed = pulled !== undefined && read === undefined;
    const ownId = source.idFrom === undefined || isNamed ? findOwnId(request, read) : undefined;
    return {
      id: ownId ?? createId("evt"),
      givenId: ownId !== undefined,
      type: read === undefined ? source.eventType : typeOf(source, read),
      version: "1.0",
      source: source.name,
      tenantId: source.tenantId,
      priority: source.priorityFrom === undefined ? "normal" : toPriority(valueOf(source.priorityFrom, "priority")),
      origin: "webhook",
      occurredAt: read === undefined ? request.occurredAt : toTime(read.occurredAt, request.occurredAt),
      receivedAt,
      dueAt: clock.now(),
      expiresAt: undefined,
      orderingKey:
        source.orderingKeyFrom === undefined
          ? toKey(read?.orderingKey)
          : valueOf(source.orderingKeyFrom, "ordering_key"),
      dedupeKey: ownId === undefined ? findKey(request, read, configuredId) : publishKey(ownId),
      replayKey,
      contentType: read?.contentType ?? request.headers["content-type"],
      request: kept ?? keptOf(request),
      details:
        pulled === undefined
          ? hopsDetail(readHops(request.headers), traceDetail(readTrace(request.headers)))
          : pulled.details,
      body: read?.body ?? request.body,
      heldGeneration: pulled?.isHeld === true ? pulled.generation : undefined,
      fanOutCursor: undefined,
    };
  };
}

/** The parts of a request that are stored. */
export function keptOf(request: WebhookRequest): string {
  return request.keptAs ?? describeRequest(request, request.source.hidden);
}

/** Whether a type is allowed: a sender's text must not break it or imitate the gateway's own events. */
function isLegalType(type: string): boolean {
  return type.length <= EVENT_TYPE_MAX_LENGTH && EVENT_TYPE.test(type) && !isGatewayEventType(type);
}

/** Matches `only`, where the name of the kind may be left out: `push` for `github.push`. */
function isLetThrough({ only, kind }: Source, type: string): boolean {
  if (only === undefined) return true;
  const prefix = `${kind}.`;
  const short = type.startsWith(prefix) ? type.slice(prefix.length) : type;
  return only.some((pattern) => matchesPattern(pattern, type) || matchesPattern(pattern, short));
}

function typeOf({ typeTemplate }: Source, { type }: ReadEvent): string {
  return typeTemplate === undefined ? type : typeTemplate.replaceAll("{type}", type);
}

/** What an event is called by its kind or its queue; by its key it is then found by that, too. */
function findOwnId({ pulled }: WebhookRequest, read: ReadEvent | undefined): string | undefined {
  return read === undefined ? pulled?.eventId : read.id;
}

/** Uses the facts that a message has about its event; others are found as for a webhook. */
function adoptEvent(
  request: WebhookRequest,
  form: WellFormed,
  pulled: MessageFacts,
  adopted: AdoptedEvent,
  { clock, createId }: WebhookEventOptions,
): IncomingEvent {
  const { source, receivedAt } = request;
  const { eventId, details, isHeld, generation } = pulled;
  const now = clock.now();
  const keyPlace = source.orderingKeyFrom;
  return {
    id: eventId ?? createId("evt"),
    givenId: eventId !== undefined,
    type: adopted.type,
    version: adopted.version,
    source: adopted.source,
    tenantId: adopted.tenantId ?? source.tenantId,
    priority:
      source.priorityFrom === undefined
        ? adopted.priority
        : toPriority(readPlace(source.priorityFrom, "priority", request, form)),
    origin: adopted.origin,
    occurredAt: toTime(adopted.occurredAt, request.occurredAt),
    receivedAt,
    // Times from others are wall times; scheduling has its own clock, which does not jump.
    dueAt: adopted.deliverAt === undefined ? now : Math.max(now, now + adopted.deliverAt - receivedAt),
    expiresAt: adopted.expiresAt === undefined ? undefined : now + adopted.expiresAt - receivedAt,
    orderingKey:
      adopted.orderingKey ?? (keyPlace === undefined ? undefined : readPlace(keyPlace, "ordering_key", request, form)),
    dedupeKey: eventId === undefined ? undefined : publishKey(eventId),
    replayKey: undefined,
    contentType: adopted.contentType,
    request: adopted.origin === "webhook" ? keptOf(request) : undefined,
    details,
    body: request.body,
    heldGeneration: isHeld ? generation : undefined,
    fanOutCursor: undefined,
  };
}

/** The event id of a message, the same whenever it comes: a broker's ids may have any content and length. */
export function toMessageEventId(source: string, messageId: string): string {
  return `msg_${hashOf(`${source}\0${messageId}`)}`;
}

function toTime(given: number | undefined, otherwise: number): number {
  return given !== undefined && Number.isSafeInteger(given) && given >= 0 && given <= MAX_TIME ? given : otherwise;
}

export function readPlace(
  place: RequestField,
  field: string,
  request: Pick<WebhookRequest, "source" | "headers">,
  form: Pick<WellFormed, "texts">,
): string | undefined {
  const text =
    place.in === "header"
      ? readHeader(request, place.name)
      : form.texts[request.source.pointers.indexOf(place.pointer)];
  if (text === undefined) return undefined;
  if (text.length > MAX_KEY_LENGTH || UNPRINTABLE.test(text)) {
    throw new PosthornError(
      "invalid_field",
      `The value for ${field} is longer than ${MAX_KEY_LENGTH} characters or contains a control character.`,
      { field },
    );
  }
  return text === "" ? undefined : text;
}

function readHeader(request: Pick<WebhookRequest, "headers">, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** An unknown priority is no reason to reject a webhook: it counts as normal. */
function toPriority(text: string | undefined): Priority {
  return PRIORITIES.find((priority) => priority === text?.toLowerCase()) ?? "normal";
}

/** A configured id decides alone, then what the kind has read. */
function findKey(
  request: WebhookRequest,
  read: ReadEvent | undefined,
  configuredId: string | undefined,
): string | undefined {
  const { source } = request;
  const isRead = source.idFrom === undefined && read !== undefined;
  const id = isRead ? toKey(read.identity) : source.idFrom === undefined ? findUsualId(request) : configuredId;
  return id === undefined ? undefined : webhookKey(source.name, id);
}

/** On undeclared sources the usual headers count only together with the body: their meaning there is not guaranteed. */
function findUsualId(request: WebhookRequest): string | undefined {
  if (request.source.declared) return undefined;
  const id = readHeader(request, "webhook-id") ?? readHeader(request, "idempotency-key");
  if (id === undefined || id === "") return undefined;
  return createHash("sha256").update(`${id}\0`).update(request.body).digest("base64url");
}
