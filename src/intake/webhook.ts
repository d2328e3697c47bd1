import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import {
  type AcceptedRequest,
  type Done,
  type Rejected,
  type Accepted,
  type AcceptedSeveral,
  after,
  Barrier,
  type MaybePromise,
} from "../model/accepted.ts";
import { isAllowedIp, isLoopbackHost, parseUrl } from "../model/addresses.ts";
import type { Clock } from "../model/clock.ts";
import { PosthornError } from "../model/errors.ts";
import { findLoop, readHops } from "../model/event.ts";
import { GENERIC_KIND, isSourceName, SOURCE_NAME_WORDS, type Source, type SourceGate } from "../model/source.ts";
import type { ProcessRequest } from "./accept-events.ts";
import { addBody, checkEncoding, type RequestHead, type WebhookRequest } from "./request.ts";
import { isSameSecret } from "../sources/signatures.ts";
import type { KindAnswer, PushedSourceKind, SourceKind } from "../sources/source-kind.ts";
import { toRejected, type WebhookLog } from "./webhook-log.ts";
import type { GivenUp } from "../model/forward-rules.ts";
import { jsonAnswer } from "../sources/handshakes.ts";

export type WebhookReceiver = ReturnType<typeof createWebhookReceiver>;

/** Where a request comes from, by its connection and its proxies. */
export interface RequestOrigin {
  clientAddress(request: IncomingMessage): string;
  /** The URL that the sender used. */
  publicUrl(request: IncomingMessage): string;
}

interface WebhookReceiverOptions {
  findSource: (name: string) => Source | undefined;
  kinds: ReadonlyMap<string, SourceKind>;
  processRequest: ProcessRequest;
  /** Why nothing can be accepted right now; undefined when it can. */
  findTrouble: () => PosthornError | undefined;
  clock: Pick<Clock, "wall">;
  log: WebhookLog;
}

/** One flow for all kinds: `generic` is the kind that leaves out all optional parts. */
export function createWebhookReceiver(options: WebhookReceiverOptions) {
  const { findSource, kinds, processRequest, findTrouble, clock, log } = options;

  /** Returns the source of a path if it accepts webhooks with this method now; otherwise throws the reason. */
  function openSource(name: string, method: string, path: string): Source {
    const source = checkOpen(name, findSource(name), method, path);
    if (kinds.get(source.kind)?.isPulled !== true) return source;
    throw new PosthornError("unknown_source", `The source "${name}" receives messages from a queue, not webhooks.`);
  }

  function checkHead(head: RequestHead): void {
    rejectForeignPage(head.headers);
    const trouble = findTrouble();
    if (trouble !== undefined) throw trouble;
    checkEncoding(head.headers);
    const { source } = head;
    if (source.gate !== undefined) checkGate(source, source.gate, head);
  }

  return {
    /**
     * Finds the source of a request and checks everything that is known before the body is read. Returns why the request
     * is rejected, if it is. Never throws.
     */
    begin(request: IncomingMessage, from: RequestOrigin): RequestHead | Rejected {
      let head: RequestHead | undefined;
      try {
        const method = request.method ?? "POST";
        const { source: name, path, query } = splitPath(request.url ?? "/");
        const source = openSource(name, method, path);
        const remoteAddress = from.clientAddress(request);
        const receivedAt = clock.wall();
        source.lastRequestAt = receivedAt;
        head = {
          source,
          method,
          path: withoutPathToken(source, path),
          query,
          remoteAddress,
          headers: request.headers,
          receivedAt,
          occurredAt: receivedAt,
          url: source.kind === GENERIC_KIND ? "" : from.publicUrl(request),
          keptAs: undefined,
        };
        checkHead(head);
        return head;
      } catch (error) {
        // Without a source, nothing says to whom the request belongs.
        return head === undefined ? toRejected(error) : log.reject(head, error, undefined, 0);
      }
    },
    /** Rejects a request whose body could not be read. `size`: as far as it is known. Never throws. */
    rejectUnread: (head: RequestHead, error: unknown, size: number) => log.reject(head, error, undefined, size),
    /**
     * Verifies, reads and stores a request whose body was read. Whatever fails, `done` is called; an event that it reports
     * as stored is on disk.
     */
    receive(head: RequestHead, body: Buffer, done: Done<WebhookResult>): void {
      const request = addBody(head, body);
      const barrier = new Barrier(done, (error) => done(log.reject(request, error, body, body.length)));
      const kind = kinds.get(head.source.kind);
      if (kind === undefined || kind.isPulled === true) return barrier.fail(unknownKind(head.source));
      void barrier.run(
        () => verifySender(request, kind),
        (answer) => {
          if (answer !== undefined) return barrier.end({ kind: "answered", outcome: "handshake", answer });
          processRequest(request, kind, barrier, (result) => barrier.end(answerAs(kind, result)));
        },
      );
    },
    /** Replays a rejected or ignored request without verifying its sender again. */
    replay(request: WebhookRequest, done: Done<AcceptedRequest>): void {
      const { source, body } = request;
      const barrier = new Barrier(done, (error) => done(log.reject(request, error, body, body.length)));
      const kind = kinds.get(source.kind);
      if (kind === undefined) return barrier.fail(unknownKind(source));
      processRequest(request, kind, barrier, (result) => barrier.end(result));
    },
  };
}

/** The answer to a handshake; undefined for other requests, whose sender is then verified. */
function verifySender(request: WebhookRequest, kind: PushedSourceKind): MaybePromise<KindAnswer | undefined> {
  const loop = findLoop(readHops(request.headers));
  if (loop !== undefined) throw loop;
  const { source, method } = request;
  const answer = kind.handshake?.(request, source.settings);
  if (answer !== undefined) return answer;
  rejectMethod(source, method);
  return after(kind.verify?.(request, source.settings), () => undefined);
}

/** The source was declared by a gateway that knew more kinds. */
function unknownKind({ name, kind }: Source): PosthornError {
  const message = `The source "${name}" is of the kind ${kind}, which this gateway does not know.`;
  return new PosthornError("unavailable", message, { retryAfterS: 300 });
}

/** The paths of webhooks begin with this. */
export const WEBHOOK = "/webhook/";

export function splitPath(url: string): { source: string; path: string; query: string } {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const end = path.indexOf("/", WEBHOOK.length);
  return {
    source: path.slice(WEBHOOK.length, end < 0 ? undefined : end),
    path,
    query: mark < 0 ? "" : url.slice(mark + 1),
  };
}

/** Returns the source if it accepts webhooks at this path with this method now; otherwise throws the reason. */
function checkOpen(name: string, source: Source | undefined, method: string, path: string): Source {
  if (source === undefined || !hasPathToken(source, path)) {
    throw unknownSource(name);
  }
  if (source.status === "closed") throw new PosthornError("gone", `The source "${name}" is closed.`);
  if (source.status === "paused") {
    throw new PosthornError("source_paused", `The source "${name}" is paused. Try again later.`, { retryAfterS: 60 });
  }
  if (source.handshakeMethods?.includes(method) !== true) rejectMethod(source, method);
  return source;
}

function unknownSource(name: string): PosthornError {
  const what = isSourceName(name)
    ? `There is no source "${name}". Declare it, or accept names that are not declared with any_source: true. Upper and ` +
      "lower case make a difference."
    : `${JSON.stringify(name.slice(0, 70))} is not the name of a source, which has ${SOURCE_NAME_WORDS}.`;
  return new PosthornError("unknown_source", what);
}

function rejectMethod({ name, methods }: Source, method: string): void {
  if (methods.includes(method)) return;
  throw new PosthornError("method_not_allowed", `The source "${name}" takes ${methods.join(", ")}, not ${method}.`, {
    details: { allow: methods },
  });
}

/** `/webhook/NAME/TOKEN/…`: without the token the source is not found. */
function hasPathToken(source: Source, path: string): boolean {
  if (source.pathToken === undefined) return true;
  const { start, end } = findToken(source, path);
  return isSameSecret(path.slice(start, end), source.pathToken);
}

/** The path without the token, for storing. */
function withoutPathToken(source: Source, path: string): string {
  if (source.pathToken === undefined) return path;
  const { start, end } = findToken(source, path);
  return path.slice(0, start - 1) + path.slice(end);
}

function findToken({ name }: Source, path: string): { start: number; end: number } {
  const start = WEBHOOK.length + name.length + 1;
  const end = path.indexOf("/", start);
  return { start, end: end < 0 ? Math.max(start, path.length) : end };
}

/**
 * Browsers let the page of any site post to this machine, and webhooks need no key. Only browsers send this header, and
 * a proxy or tunnel passes on the name by which the gateway is known outside.
 */
function rejectForeignPage(headers: IncomingHttpHeaders): void {
  if (headers["sec-fetch-site"] !== "cross-site" || !isOwnMachine(headers.host ?? "")) return;
  throw new PosthornError("other_origin", "A page of another site sent this webhook to its visitor's own machine.");
}

/** As browsers understand the name: they take `localhost.`, `x.localhost` and `0.0.0.0` for their own machine too. */
function isOwnMachine(host: string): boolean {
  const name = parseUrl(`http://${host}`)?.hostname.replace(/\.$/, "") ?? "";
  return isLoopbackHost(name) || name === "0.0.0.0" || name === "[::]";
}

/** The address, the token and the content type that the source requires. */
function checkGate(source: Source, gate: SourceGate, request: RequestHead): void {
  const { allowedIps, auth, contentTypes } = gate;
  if (allowedIps !== undefined && !isAllowedIp(request.remoteAddress, allowedIps)) {
    const message = `The source "${source.name}" accepts no requests from ${request.remoteAddress}.`;
    throw new PosthornError("address_not_allowed", message);
  }
  if (auth !== undefined && !hasToken(request, auth)) {
    const message = `The source "${source.name}" needs its token in the header ${auth.header}.`;
    throw new PosthornError("bad_signature", message);
  }
  if (contentTypes !== undefined) checkContentType(source, contentTypes, request);
}

function hasToken({ headers }: RequestHead, { header, token }: { header: string; token: string }): boolean {
  const given = headers[header];
  if (typeof given !== "string") return false;
  const isBearer = header === "authorization" && /^bearer /i.test(given);
  return isSameSecret(given, token) || (isBearer && isSameSecret(given.slice("bearer ".length), token));
}

function checkContentType(source: Source, accepted: readonly string[], { method, headers }: RequestHead): void {
  const given = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  // A handshake has no body, so it has no content type.
  if (given === "" && source.handshakeMethods?.includes(method) === true) return;
  if (accepted.some((type) => fits(given, type))) return;
  throw new PosthornError(
    "unsupported_content_type",
    `The source "${source.name}" accepts ${accepted.join(", ")}, not ${given === "" ? "a body without a content type" : given}.`,
    { details: { content_types: accepted } },
  );
}

function fits(given: string, type: string): boolean {
  return type.endsWith("/*") ? given.startsWith(type.slice(0, -1)) : given === type;
}

/** What the sender of a webhook is answered: the result of its event, or a whole answer. */
export type WebhookResult = Accepted | Answered;

/** The answer that the kind of source requires, or that of a request with several events. */
export interface Answered {
  readonly kind: "answered";
  readonly outcome: "accepted" | "duplicate" | "ignored" | "handshake";
  readonly answer: KindAnswer;
  /** The first of several. */
  readonly eventId?: string | undefined;
}

const OUTCOMES = { stored: "accepted", several: "accepted", duplicate: "duplicate", ignored: "ignored" } as const;

/** The answer of a kind that defines one. Rejections are answered the same way for all kinds. */
function answerAs(kind: PushedSourceKind, result: AcceptedRequest): WebhookResult {
  if (result.kind === "rejected") return result;
  if (kind.answer !== undefined) {
    const answer = kind.answer(result);
    return { kind: "answered", outcome: OUTCOMES[result.kind], answer, eventId: findEventId(result) };
  }
  return result.kind === "several" ? answerSeveral(result) : result;
}

function answerSeveral({ eventIds, deliveries, givenUp }: AcceptedSeveral): Answered {
  const facts =
    givenUp === undefined
      ? { status: "queued", event_ids: eventIds, deliveries }
      : { ...describeGivenUp(givenUp), event_ids: eventIds };
  const answer = jsonAnswer(JSON.stringify(facts), givenUp?.isError === true ? BAD_GATEWAY : 200);
  return { kind: "answered", outcome: "accepted", answer, eventId: eventIds[0] };
}

function findEventId(result: Exclude<AcceptedRequest, Rejected>): string | undefined {
  if (result.kind === "several") return result.eventIds[0];
  return result.kind === "ignored" ? undefined : result.eventId;
}

export const BAD_GATEWAY = 502;

/** `dead_letter`: the target was not asked, or has not answered. */
export function describeGivenUp({ reason, code }: GivenUp): Record<string, unknown> {
  return code === undefined ? { status: "dead_letter", reason } : { status: "rejected_by_target", code, reason };
}
