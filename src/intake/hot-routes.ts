import type { IncomingMessage, ServerResponse } from "node:http";
import { type Accepted, type Done, type Rejected, Barrier } from "../model/accepted.ts";
import { isSendersFault, PosthornError } from "../model/errors.ts";
import { findLoop, readHops } from "../model/event.ts";
import { readTrace } from "../model/trace-context.ts";
import type { Source } from "../model/source.ts";
import { allows, type Caller } from "../resources/keys.ts";
import type { PublishAnswer, Publisher } from "./publish/publish.ts";
import { checkEncoding, readBody } from "./request.ts";
import type { KindAnswer } from "../sources/source-kind.ts";
import {
  BAD_GATEWAY,
  describeGivenUp,
  type WebhookResult,
  splitPath,
  WEBHOOK,
  type RequestOrigin,
  type WebhookReceiver,
} from "./webhook.ts";
import type { Work } from "../accept/overload.ts";
import type { NoteServerError } from "../telemetry/server-errors.ts";
import { ANSWER_HEADERS, describeError, sendProblem, type ProblemOptions } from "./problem.ts";
import type { Activity, AnsweredRequest } from "../telemetry/activity.ts";

/**
 * Finds the caller by API key, portal link or session cookie; undefined without one of these or with an invalid one.
 * Throws `too_many_requests` when too many invalid ones come from one address. `key` is a key that is not in the
 * headers.
 */
export type Authenticate = (request: IncomingMessage, key?: string) => Caller | undefined | Promise<Caller | undefined>;

interface IntakeOptions extends RequestOrigin {
  webhooks: WebhookReceiver;
  publisher: Publisher;
  authenticate: Authenticate;
  /** Why nothing can be accepted right now; undefined when it can. */
  findTrouble: () => PosthornError | undefined;
  /** Counts the bodies of requests that are not answered yet. */
  work: Pick<Work, "unansweredBytes">;
  maxUnansweredBytes: number;
  maxPublishBytes: number;
  createId: (prefix: "req") => string;
  onRequest: (outcome: string) => void;
  /** Set when somebody watches requests. */
  noteAnswer?: ((response: ServerResponse, facts: AnswerFacts) => void) | undefined;
  onServerError: NoteServerError;
}

const EVENTS = "/api/v1/events";
const EVENTS_OTHERWISE = /^\/api\/v1\/events\/?(\?|$)/;

/** The methods of Fastify's paths that are answered here. */
export const HOT_ROUTES = [{ url: EVENTS, method: "POST" }];

export type Intake = ReturnType<typeof createIntake>;

/**
 * The two busiest routes, on Node's own handler: a framework would cost a fifth of the rate. Fastify serves the others.
 */
export function createIntake(options: IntakeOptions) {
  const { webhooks, publisher, findTrouble, work } = options;

  function receiveWebhook(request: IncomingMessage, response: ServerResponse): void {
    const head = webhooks.begin(request, options);
    if ("kind" in head) return reject(response, head.error, { requestId: head.requestId });
    const { source } = head;
    takeBody<WebhookResult>(
      request,
      response,
      source.maxBytes,
      (body, done) => webhooks.receive(head, body, done),
      (result) => answerWebhook(response, result, source),
      (error) => webhooks.rejectUnread(head, error, Number(request.headers["content-length"] ?? 0)).requestId,
    );
  }

  function answerWebhook(response: ServerResponse, result: WebhookResult, { queuedStatus }: Source): void {
    switch (result.kind) {
      case "stored": {
        const { eventId, deliveries, forwardResult } = result;
        record(response, "accepted", eventId);
        if (forwardResult === "forwarded") {
          return sendJson(response, 200, `{"status":"forwarded","event_id":"${eventId}"}`);
        }
        if (typeof forwardResult === "object") {
          const body = JSON.stringify({ ...describeGivenUp(forwardResult), event_id: eventId });
          return sendJson(response, forwardResult.isError ? BAD_GATEWAY : queuedStatus, body);
        }
        const body = `{"status":"queued","event_id":"${eventId}","deliveries":${deliveries}}`;
        return sendJson(response, queuedStatus, body);
      }
      case "duplicate":
        record(response, "duplicate", result.eventId);
        return sendJson(response, 200, `{"status":"duplicate","event_id":"${result.eventId}"}`);
      case "ignored":
        record(response, "ignored");
        return sendJson(response, 200, JSON.stringify({ status: "ignored", cause: result.cause }));
      case "answered":
        record(response, result.outcome, result.eventId);
        return sendAnswer(response, result.answer);
      case "rejected":
        return reject(response, result.error, { requestId: result.requestId });
    }
  }

  function publish(request: IncomingMessage, response: ServerResponse): void {
    let caller: ReturnType<Authenticate>;
    try {
      caller = options.authenticate(request);
    } catch (error) {
      return reject(response, error);
    }
    if (caller instanceof Promise) {
      // Meanwhile the body is not read: the key is checked first.
      caller.then((known) => publishAs(known, request, response)).catch((error: unknown) => reject(response, error));
    } else {
      publishAs(caller, request, response);
    }
  }

  function publishAs(caller: Caller | undefined, request: IncomingMessage, response: ServerResponse): void {
    const hops = readHops(request.headers);
    try {
      if (caller === undefined)
        throw new PosthornError("unauthorized", "Send a valid key as Authorization: Bearer KEY.");
      rejectPublishingPartner(caller);
      if (!allows(caller, "publish")) throw new PosthornError("forbidden", "This key lacks the scope publish.");
      const loop = findLoop(hops);
      if (loop !== undefined) throw loop;
      checkTrouble();
      checkEncoding(request.headers);
    } catch (error) {
      return reject(response, error);
    }
    const { tenantId } = caller;
    takeBody<PublishAnswer>(
      request,
      response,
      options.maxPublishBytes,
      (body, done) => publisher.publish(body, { boundTenant: tenantId, hops, trace: readTrace(request.headers) }, done),
      (published) => answerPublished(response, published),
    );
  }

  function answerPublished(response: ServerResponse, { isBatch, results }: PublishAnswer): void {
    const failed = results.find(isFailed);
    const first = results.find(isAccepted);
    // Nothing was accepted, partly because of our own error: 202 would be misleading.
    if (failed !== undefined && first === undefined) return reject(response, failed.error);
    if (failed !== undefined) options.onServerError(failed.error, describePlace(response.req));
    if (first !== undefined) options.noteAnswer?.(response, { outcome: "accepted", eventId: first.eventId });
    if (isBatch) return sendJson(response, 202, `{"events":[${results.map(describePublished).join(",")}]}`);
    const [result] = results;
    if (result === undefined) return reject(response, new PosthornError("internal_error", "Nothing was published."));
    if (result.kind === "rejected") return reject(response, result.error);
    sendJson(response, 202, describePublished(result));
  }

  /**
   * Reads the body, has it processed, and answers with the result. Whatever throws in between, the request is answered
   * once, and its body is no longer counted.
   */
  function takeBody<Result>(
    request: IncomingMessage,
    response: ServerResponse,
    maxBytes: number,
    process: (body: Buffer, done: Done<Result>) => void,
    answer: Done<Result>,
    /** Returns the id under which the request is logged, if it is. */
    onUnread?: (error: PosthornError) => string | undefined,
  ): void {
    if (request.headers.expect !== undefined && Number(request.headers["content-length"] ?? 0) <= maxBytes) {
      response.writeContinue();
    }
    let counted = 0;
    const release = () => {
      work.unansweredBytes -= counted;
      counted = 0;
    };
    const barrier = new Barrier<Result>(
      (result) => {
        release();
        answer(result);
      },
      (error) => {
        release();
        reject(response, error);
      },
    );
    const takeWhole = barrier.guard((body: Buffer) => {
      counted = body.length;
      process(body, (result) => barrier.end(result));
    });
    readBody(request, maxBytes, options, takeWhole, (error) => {
      reject(response, error, { close: true, requestId: onUnread?.(error) });
    });
  }

  function reject(response: ServerResponse, error: unknown, { close, requestId: logged }: ProblemOptions = {}): void {
    const code = error instanceof PosthornError ? error.code : "internal_error";
    // The sender's answer and the gateway's log name the same request.
    const requestId = logged ?? (code === "internal_error" ? options.createId("req") : undefined);
    record(response, code);
    if (!isSendersFault(error)) options.onServerError(error, { ...describePlace(response.req), requestId });
    sendProblem(response, error, { close: close === true || !response.req.complete, requestId });
  }

  function record(response: ServerResponse, outcome: string, eventId?: string): void {
    options.onRequest(outcome);
    options.noteAnswer?.(response, { outcome, eventId });
  }

  function checkTrouble(): void {
    const trouble = findTrouble();
    if (trouble !== undefined) throw trouble;
  }

  return {
    /** Answers the request and returns true if it is for one of the two routes. */
    handle(request: IncomingMessage, response: ServerResponse): boolean {
      const url = request.url ?? "/";
      if (url.startsWith(WEBHOOK)) {
        receiveWebhook(request, response);
        return true;
      }
      if (request.method === "POST" && (url === EVENTS || EVENTS_OTHERWISE.test(url))) {
        publish(request, response);
        return true;
      }
      return false;
    },
  };
}

/** For routes that publish: what an event says is the operator's word, and partners get it again. */
export function rejectPublishingPartner(caller: { isPartner?: boolean | undefined } | undefined): void {
  if (caller?.isPartner !== true) return;
  throw new PosthornError("forbidden", "A portal link cannot publish events. Use a key with the scope publish.");
}

/** Leaves out everything after the source's name, which may be a secret. */
function describePlace({ method, url = "/" }: IncomingMessage): { method: string | undefined; path: string } {
  return { method, path: url.startsWith(WEBHOOK) ? WEBHOOK + splitPath(url).source : EVENTS };
}

function isAccepted(result: Accepted): result is Accepted & { kind: "stored" | "duplicate" } {
  return result.kind === "stored" || result.kind === "duplicate";
}

/** The event passed its checks, and could not be stored. */
function isFailed(result: Accepted): result is Rejected {
  return result.kind === "rejected" && result.stage === "accept";
}

function describePublished(result: Accepted): string {
  switch (result.kind) {
    case "stored":
      return `{"event_id":"${result.eventId}","deliveries":${result.deliveries},"duplicate":false}`;
    case "duplicate":
      return `{"event_id":"${result.eventId}","deliveries":0,"duplicate":true}`;
    case "ignored":
      return JSON.stringify({ status: "ignored", cause: result.cause });
    case "rejected":
      return JSON.stringify(describeError(result.error));
  }
}

/** Sends a kind's answer, with headers that keep browsers from treating it as a page. */
function sendAnswer(response: ServerResponse, { status, headers = NO_HEADERS, body = "" }: KindAnswer): void {
  let list = listed.get(headers);
  if (list === undefined) listed.set(headers, (list = toList(headers)));
  const length = ["content-length", String(Buffer.byteLength(body))];
  response.writeHead(status, status === 204 ? list : list.concat(length));
  response.end(body);
}

const NO_HEADERS = {};
/** Most answers of a kind share their headers. */
const listed = new WeakMap<NonNullable<KindAnswer["headers"]>, string[]>();

function toList(headers: NonNullable<KindAnswer["headers"]>): string[] {
  return Object.entries({ ...ANSWER_HEADERS, ...headers }).flat();
}

/** One list for all answers: Node has written it before the next answer begins. */
const JSON_HEADERS = [
  ...Object.entries({ "content-type": "application/json", ...ANSWER_HEADERS }).flat(),
  "content-length",
  "",
];
const LENGTH_AT = JSON_HEADERS.length - 1;

function sendJson(response: ServerResponse, status: number, body: string): void {
  JSON_HEADERS[LENGTH_AT] = String(Buffer.byteLength(body));
  response.writeHead(status, JSON_HEADERS);
  response.end(body);
}

const WEBHOOK_PATH = /^\/webhook\/[^/?]*/;

/** What became of a request, as far as its answer alone does not say it. */
type AnswerFacts = Pick<AnsweredRequest, "outcome" | "eventId">;

const noted = new WeakMap<ServerResponse, AnswerFacts>();

export function noteAnswer(response: ServerResponse, facts: AnswerFacts): void {
  noted.set(response, facts);
}

/** Reports a request when its answer has been sent. */
export function watchAnswer(request: IncomingMessage, response: ServerResponse, report: Activity["request"]): void {
  const startedAt = performance.now();
  const { method = "", url = "/" } = request;
  response.once("finish", () => {
    const path = WEBHOOK_PATH.exec(url)?.[0] ?? url.split("?", 1)[0] ?? url;
    const { statusCode: status } = response;
    report({ method, path, status, durationMs: performance.now() - startedAt, ...noted.get(response) });
  });
}
