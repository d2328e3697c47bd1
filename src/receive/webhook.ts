import type { IncomingHttpHeaders } from "node:http";
import type { Clock } from "../domain/clock.ts";
import { replayKey } from "../domain/dedupe-key.ts";
import { isSendersFault, PosthornError } from "../domain/errors.ts";
import { findLoop, readHops } from "../domain/hops.ts";
import type { Source } from "../domain/source.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Forwarding } from "./forwarding.ts";
import type { IncomingEvent, IngestResult } from "../route/fan-out.ts";
import type { LoggedRequest } from "../store/port/event-log.ts";
import { admit } from "./admit.ts";
import type { BodyChecker } from "./body-check.ts";
import { answerAs, type KindResult } from "./kind-answer.ts";
import { describeInvalid, isKept, toInvalidKey } from "./invalid-event.ts";
import { checkOpen, refuseMethod } from "./open-source.ts";
import type { RequestFacts } from "./request-facts.ts";
import { createWebhookLog } from "./webhook-log.ts";
import type { SchemaChecker } from "./schema/schema-check.ts";
import { GENERIC } from "./sources/generic.ts";
import type { KindAnswer, Reading, SourceKind } from "./sources/source-kind.ts";
import { takeParts } from "./take-parts.ts";
import { createWebhookEvents, isLegalType, isLetThrough } from "./webhook-event.ts";
import type { WellFormed } from "./well-formed.ts";

/** One inbound request with its raw bytes. */
export interface WebhookRequest extends RequestFacts {
  source: Source;
  headers: IncomingHttpHeaders;
  body: Buffer;
  receivedAt: number;
  /** When it came first: another time than `receivedAt` only when it is taken in again. */
  occurredAt: number;
  /** As the sender addressed it; empty for generic sources, where nobody asks. */
  url: string;
  /** As it is kept, once somebody has written that down. */
  facts: string | undefined;
  /** It is in the log already, and taken in again by hand. */
  isReplayed: boolean;
  /** What the validation of its endpoint objects to, where its events are kept all the same. */
  invalid: PosthornError | undefined;
}

export type WebhookResult =
  | IngestResult
  | { kind: "refused"; error: PosthornError }
  | { kind: "ignored"; cause: string }
  /** The sender gets the answer that its kind demands. */
  | { kind: "answered"; outcome: "accepted" | "duplicate" | "ignored" | "handshake"; answer: KindAnswer };

/** What became of one event of a request. */
export type Part =
  | IngestResult
  | { kind: "refused"; error: unknown }
  /** `eventId`: it is kept all the same, and delivered to nobody. */
  | { kind: "ignored"; cause: string; eventId: string | undefined };

export interface WebhookReceiver {
  /** The source of a path, if it takes webhooks by this method now; else the reason why not is thrown. */
  open(name: string, method: string, path: string): Source;
  /** Throws the reason to refuse a request before its body is read. */
  admit(request: WebhookRequest): void;
  /** Checks, identifies and records a request. `done` is called once; what it reports as stored is on disk. */
  receive(request: WebhookRequest, done: (result: WebhookResult) => void): void;
  /** Takes in again what was refused or ignored, without asking who it is from. */
  replay(request: WebhookRequest, done: (result: KindResult) => void): void;
  /** Keeps a request that made no event, with the reason. */
  log(request: Omit<WebhookRequest, "body">, cause: string, body: Buffer | undefined, size: number): void;
}

export interface WebhookReceiverOptions {
  findSource: (name: string) => Source | undefined;
  kinds: ReadonlyMap<string, SourceKind>;
  /** `to`: these and nobody else. */
  accept: (event: IncomingEvent, done: (result: IngestResult) => void, to?: readonly Subscription[]) => void;
  logRequest: (request: LoggedRequest) => void;
  clock: Clock;
  createId: (prefix: "evt" | "req") => string;
  bodies: Pick<BodyChecker, "check">;
  schemas: Pick<SchemaChecker, "find" | "check">;
  /** Where webhooks may be forwarded while their senders wait. */
  forwarding?: Forwarding | undefined;
  /** Compares whole requests with what their endpoint demands. */
  validations?: RequestValidations | undefined;
}

export interface RequestValidations {
  /** Whether the check of small JSON begins with what the body says. */
  wantsValue(endpoint: string): boolean;
  /** Throws or rejects with a code of status 422. */
  check(
    endpoint: string,
    request: Pick<WebhookRequest, "body" | "headers" | "query">,
    form: WellFormed,
  ): Promise<void> | undefined;
}

/** One flow for all kinds: a generic source is of a kind that leaves everything out. */
export function createWebhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const { findSource, kinds, accept, createId, bodies, schemas, forwarding, validations } = options;
  const toEvent = createWebhookEvents(options);
  const log = createWebhookLog(options);

  function receive(request: WebhookRequest, done: (result: WebhookResult) => void): void {
    const loop = findLoop(readHops(request.headers));
    if (loop !== undefined) return refuse(request, loop, done);
    const kind = kinds.get(request.source.kind);
    if (kind === GENERIC) return check(request, GENERIC, done as (result: KindResult) => void);
    if (kind === undefined) return refuse(request, unknownKind(request.source), done);
    const finish = (result: KindResult) => done(answerAs(kind, result));
    let verified: void | Promise<void>;
    try {
      const answer = kind.handshake?.(request, request.source.settings);
      if (answer !== undefined) return finish({ kind: "answered", outcome: "handshake", answer });
      refuseMethod(request.source, request.method);
      verified = kind.verify?.(request, request.source.settings);
    } catch (error) {
      return refuse(request, error, finish);
    }
    if (!(verified instanceof Promise)) return check(request, kind, finish);
    verified.then(
      () => check(request, kind, finish),
      (error: unknown) => refuse(request, error, finish),
    );
  }

  function check(request: WebhookRequest, kind: SourceKind, done: (result: KindResult) => void): void {
    let checked: WellFormed | Promise<WellFormed>;
    try {
      const wantsValue = validations?.wantsValue(request.source.name);
      checked = bodies.check(request.body, request.headers["content-type"], request.source.pointers, wantsValue);
    } catch (error) {
      return refuse(request, error, done);
    }
    if (checked instanceof Promise) {
      checked.then(
        (form) => validate(request, kind, form, done),
        (error: unknown) => refuse(request, error, done),
      );
    } else {
      validate(request, kind, checked, done);
    }
  }

  function validate(
    request: WebhookRequest,
    kind: SourceKind,
    form: WellFormed,
    done: (result: KindResult) => void,
  ): void {
    let validated: Promise<void> | undefined;
    try {
      validated = validations?.check(request.source.name, request, form);
    } catch (error) {
      return object(error, request, kind, form, done);
    }
    if (validated === undefined) return record(request, kind, form, done);
    validated.then(
      () => record(request, kind, form, done),
      (error: unknown) => object(error, request, kind, form, done),
    );
  }

  function object(
    error: unknown,
    request: WebhookRequest,
    kind: SourceKind,
    form: WellFormed,
    done: (result: KindResult) => void,
  ): void {
    if (!isKept(request.source, error)) return refuse(request, error, done);
    request.invalid = error;
    record(request, kind, form, done);
  }

  function record(
    request: WebhookRequest,
    kind: SourceKind,
    form: WellFormed,
    done: (result: KindResult) => void,
  ): void {
    let event: IncomingEvent;
    try {
      const reading = kind.events?.(request, request.source.settings, form);
      if (reading instanceof Promise || (reading !== undefined && !isSingle(reading))) {
        return recordParts(request, form, reading, done);
      }
      event = toEvent(request, form, reading?.events[0]);
      if (request.source.refusesReplays && !request.isReplayed) event.replayKey = toReplayKey(request, kind);
    } catch (error) {
      return refuse(request, error, done);
    }
    take(request, event, form.kind === "json", (part) => {
      if (part.kind === "refused") return refuse(request, part.error, done);
      if (part.kind === "duplicate") log.ignored(request, "duplicate", part.eventId);
      else if (part.kind === "ignored") log.ignored(request, part.cause, part.eventId);
      done(part);
    });
  }

  function recordParts(
    request: WebhookRequest,
    form: WellFormed,
    reading: Reading | Promise<Reading>,
    done: (result: KindResult) => void,
  ): void {
    Promise.resolve(reading)
      .then((read) => takeParts({ request, form, reading: read, toEvent, take, log }))
      .then(done, (error: unknown) => refuse(request, error, done));
  }

  function take(request: WebhookRequest, event: IncomingEvent, isJson: boolean, done: (part: Part) => void): void {
    const { source } = request;
    if (source.only !== undefined && !isLetThrough(source, event.type)) {
      return done({ kind: "ignored", cause: "filtered", eventId: undefined });
    }
    if (event.type !== source.eventType && !isLegalType(event.type)) {
      return done({ kind: "ignored", cause: "invalid", eventId: undefined });
    }
    if (request.invalid !== undefined) return keepInvalid(request, event, request.invalid, done);
    let checked: Promise<void> | undefined;
    try {
      const type = schemas.find(event.type);
      checked = type === undefined ? undefined : schemas.check(type, event, isJson);
    } catch (error) {
      return judge(request, event, error, done);
    }
    if (checked === undefined) return keep(request, event, done);
    checked.then(
      () => keep(request, event, done),
      (error: unknown) => judge(request, event, error, done),
    );
  }

  function keep(request: WebhookRequest, event: IncomingEvent, done: (part: Part) => void): void {
    forwarding?.keepCredentials(event, request.headers);
    accept(event, (result) => {
      if (result.kind === "duplicate" && result.isReplay === true) {
        return done({ kind: "ignored", cause: "replayed", eventId: result.eventId });
      }
      if (result.kind === "stored" && result.forward !== undefined && forwarding !== undefined) {
        return forwarding.wait(event, result.forward, request.source, () => done(result));
      }
      done(result);
    });
  }

  function judge(request: WebhookRequest, event: IncomingEvent, error: unknown, done: (part: Part) => void): void {
    if (isKept(request.source, error)) keepInvalid(request, event, error, done);
    else done({ kind: "refused", error });
  }

  /** For nobody: it can be replayed. */
  function keepInvalid(
    request: WebhookRequest,
    event: IncomingEvent,
    error: PosthornError,
    done: (part: Part) => void,
  ): void {
    event.details = describeInvalid(event, error);
    if (event.givenId) {
      event.id = createId("evt");
      event.givenId = false;
    }
    event.dedupeKey = toInvalidKey(request.source, event.dedupeKey);
    event.replayKey = undefined;
    const answer = (result: IngestResult) =>
      done(result.kind === "failed" ? result : { kind: "ignored", cause: "invalid", eventId: result.eventId });
    accept(event, answer, []);
  }

  function refuse(
    request: WebhookRequest,
    error: unknown,
    done: (result: { kind: "refused"; error: PosthornError }) => void,
  ): void {
    const known = error instanceof PosthornError ? error : undefined;
    if (isSendersFault(error)) log.rejected(request, error.code, request.body, request.body.length);
    done({
      kind: "refused",
      error: known ?? new PosthornError("internal_error", "The webhook could not be read.", { cause: error }),
    });
  }

  return {
    open: (name, method, path) => checkOpen(name, findSource(name), method, path),
    admit(request) {
      const { gate } = request.source;
      if (gate !== undefined) admit(request.source, gate, request);
    },
    receive,
    replay(request, done) {
      const kind = kinds.get(request.source.kind);
      if (kind === undefined) return refuse(request, unknownKind(request.source), done);
      check(request, kind, done);
    },
    log: log.rejected,
  };
}

function isSingle({ events, ignored = [] }: Reading): boolean {
  return events.length === 1 && ignored.length === 0;
}

function toReplayKey(request: WebhookRequest, kind: SourceKind): string | undefined {
  const mark = kind.replayMark?.(request, request.source.settings);
  return mark === undefined ? undefined : replayKey(request.source.name, mark);
}

/** It was declared by a gateway that knew more kinds. */
function unknownKind({ name, kind }: Source): PosthornError {
  return new PosthornError("unavailable", `The source "${name}" is of the kind ${kind}, which is not known here.`, {
    retryAfterS: 300,
  });
}
