import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../domain/clock.ts";
import { isSendersFault, PosthornError } from "../domain/errors.ts";
import { findLoop, readHops } from "../domain/hops.ts";
import { isLoopbackHost } from "../domain/ip-address.ts";
import { parseUrl } from "../domain/parse-url.ts";
import { readTrace } from "../domain/trace-context.ts";
import { GENERIC_KIND, type Source } from "../domain/source.ts";
import { allows, type Caller } from "../registry/keys.ts";
import { withoutPathToken } from "../receive/admit.ts";
import type { PublishAnswer, PublishResult, Publisher } from "../receive/publish/publish.ts";
import type { KindAnswer } from "../receive/sources/source-kind.ts";
import { BAD_GATEWAY, describeGivenUp, type WebhookResult } from "../receive/kind-answer.ts";
import type { WebhookReceiver } from "../receive/webhook.ts";
import { addBody, type RequestHead } from "../receive/webhook-request.ts";
import type { Work } from "../telemetry/overload.ts";
import type { NoteServerError } from "../telemetry/server-errors.ts";
import type { Authenticate } from "./authenticate.ts";
import { ANSWER_HEADERS, describeError, sendProblem, type ProblemOptions } from "./problem.ts";
import { readBody } from "./read-body.ts";
import type { AnswerFacts } from "./watch-answer.ts";
import { refusePublishingPartner } from "./session/partner-routes.ts";

/**
 * The two busiest routes, on Node's own handler: a framework would cost a fifth of the rate. Fastify serves the others.
 */
export interface Intake {
  /** Answers the request and returns true if it is for one of the two routes. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
}

export interface IntakeOptions {
  webhooks: WebhookReceiver;
  publisher: Publisher;
  authenticate: Authenticate;
  clientAddress: (request: IncomingMessage) => string;
  /** The URL that the sender used. */
  publicUrl: (request: IncomingMessage) => string;
  /** Why nothing can be accepted right now; undefined when it can. */
  findTrouble: () => PosthornError | undefined;
  /** Counts the bodies of requests that are not answered yet. */
  work: Pick<Work, "unansweredBytes">;
  maxUnansweredBytes: number;
  clock: Clock;
  maxPublishBytes: number;
  createId: (prefix: "req") => string;
  onRequest: (outcome: string) => void;
  /** Set when somebody watches requests. */
  noteAnswer?: ((response: ServerResponse, facts: AnswerFacts) => void) | undefined;
  onServerError: NoteServerError;
}

const WEBHOOK = "/webhook/";
const EVENTS = "/api/v1/events";
const EVENTS_OTHERWISE = /^\/api\/v1\/events\/?(\?|$)/;

/** The methods of Fastify's paths that are answered here. */
export const HOT_ROUTES = [{ url: EVENTS, method: "POST" }];

export function createIntake(options: IntakeOptions): Intake {
  const { webhooks, publisher, findTrouble, work } = options;

  function receiveWebhook(request: IncomingMessage, response: ServerResponse, url: string): void {
    const { source: name, path, query } = splitPath(url);
    const method = request.method ?? "POST";
    let head: RequestHead | undefined;
    try {
      const source = webhooks.open(name, method, path);
      const remoteAddress = options.clientAddress(request);
      const receivedAt = options.clock.wall();
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
        url: source.kind === GENERIC_KIND ? "" : options.publicUrl(request),
        keptAs: undefined,
      };
      refuseForeignPage(request);
      refuseTrouble();
      refuseEncoding(request);
      webhooks.admit(head);
    } catch (error) {
      return refuse(response, error, { requestId: head && logUnread(head, error, 0) });
    }
    const opened = head;
    takeBody(
      request,
      response,
      opened.source.maxBytes,
      (body, answer) =>
        webhooks.receive(addBody(opened, body), (result) =>
          answer(() => answerWebhook(response, result, opened.source)),
        ),
      (error) => logUnread(opened, error, Number(request.headers["content-length"] ?? 0)),
    );
  }

  /** A request that was refused before its body was there. Returns the id under which it is stored, if it is. */
  function logUnread(head: RequestHead, error: unknown, size: number): string | undefined {
    return isSendersFault(error) ? webhooks.log(head, error.code, undefined, size) : undefined;
  }

  function answerWebhook(response: ServerResponse, result: WebhookResult, { queuedStatus }: Source): void {
    if (result.kind === "stored") {
      const { eventId, deliveries, forwardResult } = result;
      tell(response, "accepted", eventId);
      if (forwardResult === "forwarded") {
        return sendJson(response, 200, `{"status":"forwarded","event_id":"${eventId}"}`);
      }
      if (typeof forwardResult === "object") {
        const body = JSON.stringify({ ...describeGivenUp(forwardResult), event_id: eventId });
        return sendJson(response, forwardResult.isError ? BAD_GATEWAY : queuedStatus, body);
      }
      return sendJson(response, queuedStatus, `{"status":"queued","event_id":"${eventId}","deliveries":${deliveries}}`);
    }
    if (result.kind === "duplicate") {
      tell(response, "duplicate", result.eventId);
      return sendJson(response, 200, `{"status":"duplicate","event_id":"${result.eventId}"}`);
    }
    if (result.kind === "ignored") {
      tell(response, "ignored");
      return sendJson(response, 200, JSON.stringify({ status: "ignored", cause: result.cause }));
    }
    if (result.kind === "answered") {
      tell(response, result.outcome, result.eventId);
      return sendAnswer(response, result.answer);
    }
    refuse(response, result.error, { requestId: result.kind === "refused" ? result.requestId : undefined });
  }

  function publish(request: IncomingMessage, response: ServerResponse): void {
    let caller: ReturnType<Authenticate>;
    try {
      caller = options.authenticate(request);
    } catch (error) {
      return refuse(response, error);
    }
    if (caller instanceof Promise) {
      // Meanwhile the body is not read: the key is checked first.
      caller.then((known) => publishAs(known, request, response)).catch((error: unknown) => refuse(response, error));
    } else {
      publishAs(caller, request, response);
    }
  }

  function publishAs(caller: Caller | undefined, request: IncomingMessage, response: ServerResponse): void {
    const hops = readHops(request.headers);
    try {
      if (caller === undefined)
        throw new PosthornError("unauthorized", "Send a valid key as Authorization: Bearer KEY.");
      refusePublishingPartner(caller);
      if (!allows(caller, "publish")) throw new PosthornError("forbidden", "This key lacks the scope publish.");
      const loop = findLoop(hops);
      if (loop !== undefined) throw loop;
      refuseTrouble();
      refuseEncoding(request);
    } catch (error) {
      return refuse(response, error);
    }
    const { tenantId } = caller;
    takeBody(request, response, options.maxPublishBytes, (body, answer) =>
      publisher.publish(body, { boundTenant: tenantId, hops, trace: readTrace(request.headers) }, (published) =>
        answer(() => answerPublished(response, published)),
      ),
    );
  }

  function answerPublished(response: ServerResponse, { isBatch, results }: PublishAnswer): void {
    const failed = results.find(({ kind }) => kind === "failed");
    // Nothing was accepted, partly because of our own error: 202 would be misleading.
    if (failed?.kind === "failed" && !results.some(isTakenIn)) return refuse(response, failed.error);
    if (failed?.kind === "failed") options.onServerError(failed.error, describePlace(response.req));
    const first = results.find(isTakenIn);
    if (first !== undefined) options.noteAnswer?.(response, { outcome: "accepted", eventId: first.eventId });
    if (isBatch) return sendJson(response, 202, `{"events":[${results.map(describePublished).join(",")}]}`);
    const [result] = results;
    if (result === undefined) return refuse(response, new PosthornError("internal_error", "Nothing was published."));
    if (result.kind === "refused" || result.kind === "failed") return refuse(response, result.error);
    sendJson(response, 202, describePublished(result));
  }

  /** Whatever `take` throws, now or when it answers: the request is answered once, and its body is no longer counted. */
  function takeBody(
    request: IncomingMessage,
    response: ServerResponse,
    maxBytes: number,
    take: (body: Buffer, answer: (send: () => void) => void) => void,
    /** Returns the id under which it is stored, if it is. */
    onRefused?: (error: PosthornError) => string | undefined,
  ): void {
    if (request.headers.expect !== undefined && Number(request.headers["content-length"] ?? 0) <= maxBytes) {
      response.writeContinue();
    }
    const takeWhole = (body: Buffer) => {
      let isAnswered = false;
      const answer = (send: () => void) => {
        if (isAnswered) return;
        isAnswered = true;
        work.unansweredBytes -= body.length;
        try {
          send();
        } catch (error) {
          refuse(response, error);
        }
      };
      try {
        take(body, answer);
      } catch (error) {
        answer(() => refuse(response, error));
      }
    };
    readBody(request, maxBytes, options, takeWhole, (error) => {
      refuse(response, error, { close: true, requestId: onRefused?.(error) });
    });
  }

  function refuse(response: ServerResponse, error: unknown, { close, requestId: stored }: ProblemOptions = {}): void {
    const code = error instanceof PosthornError ? error.code : "internal_error";
    // The sender's answer and the gateway's log name the same request.
    const requestId = stored ?? (code === "internal_error" ? options.createId("req") : undefined);
    tell(response, code);
    if (!isSendersFault(error)) options.onServerError(error, { ...describePlace(response.req), requestId });
    sendProblem(response, error, { close: close === true || !response.req.complete, requestId });
  }

  function tell(response: ServerResponse, outcome: string, eventId?: string): void {
    options.onRequest(outcome);
    options.noteAnswer?.(response, { outcome, eventId });
  }

  function refuseTrouble(): void {
    const trouble = findTrouble();
    if (trouble !== undefined) throw trouble;
  }

  return {
    handle(request, response) {
      const url = request.url ?? "/";
      if (url.startsWith(WEBHOOK)) {
        receiveWebhook(request, response, url);
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

function splitPath(url: string): { source: string; path: string; query: string } {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const end = path.indexOf("/", WEBHOOK.length);
  return {
    source: path.slice(WEBHOOK.length, end < 0 ? undefined : end),
    path,
    query: mark < 0 ? "" : url.slice(mark + 1),
  };
}

/**
 * Browsers let the page of any site post to this machine, and webhooks need no key. Only browsers send this header, and
 * a proxy or tunnel passes on the name by which the gateway is known outside.
 */
function refuseForeignPage({ headers }: IncomingMessage): void {
  if (headers["sec-fetch-site"] !== "cross-site" || !isOwnMachine(headers.host ?? "")) return;
  throw new PosthornError("other_origin", "A page of another site sent this webhook to its visitor's own machine.");
}

/** As browsers understand the name: they take `localhost.`, `x.localhost` and `0.0.0.0` for their own machine too. */
function isOwnMachine(host: string): boolean {
  const name = parseUrl(`http://${host}`)?.hostname.replace(/\.$/, "") ?? "";
  return isLoopbackHost(name) || name === "0.0.0.0" || name === "[::]";
}

export function refuseEncoding({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"] ?? "";
  const transfer = headers["transfer-encoding"];
  // Node decodes only `chunked`; other transfer encodings stay in the body.
  const isPlain = transfer === undefined || transfer.toLowerCase() === "chunked";
  if (isPlain && (encoding === "" || encoding.toLowerCase() === "identity")) return;
  const given = isPlain ? encoding : transfer;
  throw new PosthornError(
    "unsupported_encoding",
    `The encoding "${given}" is not supported. Send the body without it.`,
  );
}

/** Leaves out everything after the source's name, which may be a secret. */
function describePlace({ method, url = "/" }: IncomingMessage): { method: string | undefined; path: string } {
  return { method, path: url.startsWith(WEBHOOK) ? WEBHOOK + splitPath(url).source : EVENTS };
}

function isTakenIn(result: PublishResult): result is PublishResult & { eventId: string } {
  return result.kind === "stored" || result.kind === "duplicate";
}

function describePublished(result: PublishResult): string {
  switch (result.kind) {
    case "stored":
      return `{"event_id":"${result.eventId}","deliveries":${result.deliveries},"duplicate":false}`;
    case "duplicate":
      return `{"event_id":"${result.eventId}","deliveries":0,"duplicate":true}`;
    case "refused":
    case "failed":
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
