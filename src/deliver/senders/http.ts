import { buildAttemptHeaders } from "../../domain/attempt-headers.ts";
import type { Clock } from "../../domain/clock.ts";
import { isCredentialHeader } from "../../domain/credential-header.ts";
import { MASK } from "../../domain/destination-auth.ts";
import { type HeaderBlock, headerLine, headerValue, maskAll, toHeaderBlock } from "../../domain/header-block.ts";
import { HOPS_HEADER } from "../../domain/hops.ts";
import type { Outcome, Response } from "../../domain/outcome.ts";
import { parseRetryAfter } from "../../domain/retry-policy.ts";
import { createSigner, type Signer } from "../../domain/signature.ts";
import type { Subscription } from "../../domain/subscription.ts";
import { expandUrl } from "../../domain/url-template.ts";
import type { HttpClient, HttpResponse, HttpResult } from "../http-client.ts";
import { createOAuth2Tokens } from "../oauth2-tokens.ts";
import { type PreparedAuth, prepareAuth, requestWithToken } from "./http-auth.ts";
import { type ForwardedRequest, prepareForward } from "./http-forward.ts";
import { buildPayload } from "./http-payload.ts";
import type { Attempt, AttemptReport, OpenCredentials, Sender } from "./sender.ts";

export interface HttpSenderOptions {
  /** Closed together with the sender. */
  client: HttpClient;
  clock: Clock;
  userAgent: string;
  /** The credentials of a kept request, which are hidden in the rest of it. */
  openCredentials?: OpenCredentials | undefined;
  /** What speaks against a destination that may lead back to this gateway. */
  findOwnUrlProblem?: ((url: string) => string | undefined) | undefined;
}

/** What all attempts for one subscription have in common. */
interface Prepared {
  signer: Signer;
  /** Where the signature by a rotation's new secret goes; undefined when there is none. */
  nextHeader: string | undefined;
  /** Its name is checked. */
  signatureHeader: string;
  headers: HeaderBlock;
  /** What the subscription sets itself, for its own destination only. */
  originHeaders: HeaderBlock;
  /** Both, and no value of what the subscription sets: any may be a secret. */
  recorded: HeaderBlock;
  auth: PreparedAuth;
  /** Why nothing is sent at all. */
  problem: string | undefined;
  /** Only where the requests of webhooks are handed on. */
  forward: ((attempt: Attempt, url: string) => ForwardedRequest) | undefined;
}

export function openHttpSender(options: HttpSenderOptions): Sender {
  const { client, clock, userAgent } = options;
  const tokens = createOAuth2Tokens({ client, clock, userAgent });
  const prepared = new WeakMap<Subscription, Prepared>();

  function prepare(subscription: Subscription): Prepared {
    const known = prepared.get(subscription);
    if (known !== undefined) return known;
    const { headers } = subscription;
    const isForwarding = subscription.mode === "forward";
    const hasOwnAgent = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
    // Where the sender's own is handed on, ours is for the requests that had none.
    const handsAgentOn = isForwarding && subscription.forwardHeaders?.includes("user-agent") === true;
    const common = hasOwnAgent || handsAgentOn ? "" : headerLine("User-Agent", userAgent);
    const auth = prepareAuth(subscription);
    const login = auth.authorization === undefined ? "" : headerLine("Authorization", auth.authorization);
    const originHeaders = toHeaderBlock(headers) + login;
    const token = auth.tokenClient === undefined ? "" : headerLine("Authorization", MASK);
    const made = {
      signer: createSigner(subscription.secrets, subscription),
      signatureHeader: subscription.signatureHeader,
      nextHeader: subscription.nextSecret === undefined ? undefined : `${subscription.signatureHeader}-Next`,
      headers: common,
      originHeaders,
      recorded: common + maskAll(originHeaders) + token,
      auth,
      // Where the gateway is reached may have changed since the subscription was made.
      problem: subscription.allowOwnUrl === true ? undefined : options.findOwnUrlProblem?.(subscription.url),
      forward: isForwarding
        ? prepareForward(subscription, {
            userAgent: handsAgentOn && !hasOwnAgent ? userAgent : undefined,
            openCredentials: options.openCredentials,
          })
        : undefined,
    };
    // What is written below with its name must be one.
    headerLine(made.signatureHeader, "");
    prepared.set(subscription, made);
    return made;
  }

  function sendOne(attempt: Attempt, startedAt: number, done: (report: AttemptReport) => void): void {
    const { deliveryId, number, event, subscription } = attempt;
    const {
      signer,
      signatureHeader,
      nextHeader,
      headers: common,
      recorded,
      auth,
      problem,
      forward,
      originHeaders,
    } = prepare(subscription);
    if (problem !== undefined) {
      const report = failedReport(attempt, startedAt, problem);
      setImmediate(done, { ...report, outcome: { kind: "blocked", error: problem } satisfies Outcome });
      return;
    }
    const { body, contentType: ownType } = buildPayload(deliveryId, event, subscription.format);
    const { maxBytes } = subscription;
    if (maxBytes !== undefined && body.length > maxBytes) {
      const error = `its body of ${body.length} bytes is larger than the target takes (${maxBytes})`;
      const report = failedReport(attempt, startedAt, error);
      setImmediate(done, { ...report, outcome: { kind: "too_large", error } satisfies Outcome });
      return;
    }
    const contentType = subscription.wantsPlainJson === true && SOME_JSON.test(ownType) ? "application/json" : ownType;
    const startedAtS = Math.floor(startedAt / 1000);
    const { seed, next, standard } = signer.sign(event.id, startedAtS, body);
    const facts = { deliveryId, eventId: event.id, eventType: event.type, number, startedAtS };
    // All that others chose, here and in `prepare`, is checked; the rest is made here.
    const own =
      `Content-Type: ${headerValue(contentType)}\r\n${signatureHeader}: ${seed}\r\n` +
      `webhook-signature: ${standard}\r\n${nextHeader === undefined ? "" : `${nextHeader}: ${next}\r\n`}` +
      `${HOPS_HEADER}: ${(event.hops ?? 0) + 1}\r\n`;
    const url = expandUrl(subscription.url, event.source);
    const forwarded = forward?.(attempt, url);
    const headers = buildAttemptHeaders(facts) + own + common + (forwarded?.headers ?? "");
    const requestHeaders = own + recorded + (forwarded?.recorded ?? "");
    const startedNow = clock.now();
    const { tenantId: owner } = subscription;
    const timeoutMs = forwarded?.timeoutMs ?? subscription.timeoutMs;
    const { terms, tokenClient } = auth;
    const report = (result: HttpResult): void => {
      done({
        outcome: toOutcome(result, clock),
        startedAt,
        durationMs: Math.max(0, clock.now() - startedNow),
        url: result.kind === "response" ? result.url : (forwarded?.url ?? url),
        address: result.address,
        requestHeaders,
      });
    };
    const method = forwarded?.method ?? "POST";
    const request = {
      method,
      url,
      path: forwarded?.path,
      headers,
      originHeaders,
      body,
      timeoutMs,
      owner,
      terms,
      findHopProblem: subscription.allowOwnUrl === true ? undefined : options.findOwnUrlProblem,
    } as const;
    if (tokenClient === undefined) client.request(request, report);
    else requestWithToken({ client, tokens, clock }, tokenClient, request, report);
  }

  return {
    limits: { maxBatch: 1 },
    send(attempts, done) {
      const [attempt] = attempts;
      const startedAt = clock.wall();
      if (attempt === undefined || attempts.length > 1) {
        setImmediate(() => done(attempts.map((each) => failedReport(each, startedAt, "one delivery at a time"))));
        return;
      }
      try {
        sendOne(attempt, startedAt, (report) => done([report]));
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        setImmediate(() => done([failedReport(attempt, startedAt, reason)]));
      }
    },
    close: () => client.close(),
  };
}

/** `application/cloudevents+json` and its like. */
const SOME_JSON = /^[^;]*\+json\s*(;|$)/i;

function failedReport(attempt: Attempt, startedAt: number, error: string): AttemptReport {
  const outcome: Outcome = { kind: "error", error };
  const url = expandUrl(attempt.subscription.url, attempt.event.source);
  return { outcome, startedAt, durationMs: 0, url, address: undefined, requestHeaders: "" };
}

function toOutcome(result: HttpResult, clock: Clock): Outcome {
  if (result.kind !== "response") {
    const { kind, error } = result;
    const response = result.response === undefined ? undefined : toResponse(result.response);
    return kind === "timed_out" ? { kind, error, response } : { kind, error };
  }
  const { status, headers } = result;
  const response = toResponse(result);
  if (status >= 200 && status < 300) return { kind: "delivered", response };
  const error = result.error === undefined ? `answered ${status}` : `answered ${status}; ${result.error}`;
  if (status === 410) return { kind: "gone", response, error };
  const isPacing = status === 429 || status === 503;
  const retryAfterMs = isPacing ? parseRetryAfter(headers["retry-after"], clock.wall()) : undefined;
  return { kind: "refused", response, error, retryAfterMs };
}

function toResponse({ status, headers, body }: HttpResponse): Response {
  return { status, headers: maskedJson(headers), body };
}

function maskedJson(headers: Readonly<Record<string, string>>): string {
  let shown = headers;
  for (const name in headers) {
    if (isCredentialHeader(name)) shown = { ...shown, [name]: MASK };
  }
  return JSON.stringify(shown);
}
