import { replayKey } from "../domain/dedupe-key.ts";
import type { PosthornError } from "../domain/errors.ts";
import type { BodyChecker } from "./text/body-check.ts";
import { createTakeEvent, isKept, type ReadRequest, type TakeEventOptions } from "./take-event.ts";
import type { KindResult } from "./kind-answer.ts";
import { after, conclude, orElse, type Soon } from "./soon.ts";
import type { Reading, SourceKind } from "./sources/source-kind.ts";
import { takeParts } from "./take-parts.ts";
import { createWebhookEvents, type WebhookEventOptions } from "./webhook-event.ts";
import type { WebhookLog } from "./webhook-log.ts";
import type { WebhookRequest } from "./webhook-request.ts";
import type { WellFormed } from "./text/well-formed.ts";

/**
 * Processes a request whose sender is verified: checks that it is well-formed, validates and reads it, and accepts each
 * of its events. `done` is called once; an event that it reports as stored is on disk.
 */
export type TakeIn = (request: WebhookRequest, kind: SourceKind, done: (result: KindResult) => void) => void;

export interface TakeInOptions extends TakeEventOptions, WebhookEventOptions {
  log: WebhookLog;
  createId: (prefix: "evt") => string;
  bodies: Pick<BodyChecker, "check">;
  /** Validates whole requests with the validation of their endpoint. */
  validations?: RequestValidations | undefined;
}

export interface RequestValidations {
  /** Whether the check of small JSON needs the parsed body. */
  wantsValue(endpoint: string): boolean;
  /** Throws or rejects with a code of status 422. */
  check(
    endpoint: string,
    request: Pick<WebhookRequest, "body" | "headers" | "query">,
    form: WellFormed,
  ): Promise<void> | undefined;
}

export function createTakeIn(options: TakeInOptions): TakeIn {
  const { bodies, validations, log } = options;
  const toEvent = createWebhookEvents(options);
  const take = createTakeEvent(options);

  function checkBody(request: WebhookRequest): Soon<WellFormed> {
    const { body, headers, source } = request;
    const wantsValue = validations?.wantsValue(source.name);
    return bodies.check(body, headers["content-type"], source.pointers, wantsValue, request);
  }

  /** The errors of its validation; thrown if the sender should be told. */
  function findObjection(request: WebhookRequest, kind: SourceKind, form: WellFormed): Soon<PosthornError | undefined> {
    if (validations === undefined) return undefined;
    return orElse<PosthornError | undefined>(
      () => after(validations.check(request.source.name, request, form), () => undefined),
      (error) => {
        if (isKept(kind, error)) return error;
        throw error;
      },
    );
  }

  function read(request: WebhookRequest, kind: SourceKind): Soon<ReadRequest> {
    const { settings } = request.source;
    if (request.pulled?.adopted?.isChecked === true) {
      return { request, kind, form: UNREAD, objection: undefined, reading: undefined };
    }
    return after(checkBody(request), (form) =>
      after(findObjection(request, kind, form), (objection) =>
        after(kind.events?.(request, settings, form), (reading) => ({ request, kind, form, objection, reading })),
      ),
    );
  }

  function takeOne(from: ReadRequest, done: (result: KindResult) => void): void {
    const { request, kind, form, reading } = from;
    conclude(
      () => toEvent(request, form, { read: reading?.events[0], replayKey: findReplayKey(request, kind) }),
      (event) =>
        take(from, event, (part) => {
          if (part.kind === "refused") return done(log.refuse(request, part.error));
          if (part.kind === "duplicate") log.ignored(request, "duplicate", part.eventId);
          else if (part.kind === "ignored") log.ignored(request, part.cause, part.eventId);
          done(part);
        }),
      (error) => done(log.refuse(request, error)),
    );
  }

  return (request, kind, done) => {
    const refuse = (error: unknown) => done(log.refuse(request, error));
    conclude(
      () => read(request, kind),
      (from) => {
        const { reading } = from;
        if (reading === undefined || isSingle(reading)) takeOne(from, done);
        else takeParts({ from, reading, toEvent, take, log }).then(done).catch(refuse);
      },
      refuse,
    );
  };
}

/** A request that was already checked where it came in first. */
const UNREAD: WellFormed = { kind: "other", texts: [] };

function isSingle({ events, ignored = [] }: Reading): boolean {
  return events.length === 1 && ignored.length === 0;
}

function findReplayKey(request: WebhookRequest, kind: SourceKind): string | undefined {
  const { source, keptAs } = request;
  if (!source.refusesReplays || keptAs !== undefined || kind.pull !== undefined) return undefined;
  const mark = kind.replayMark?.(request, source.settings);
  return mark === undefined ? undefined : replayKey(source.name, mark);
}
