import { isCredentialHeader } from "../../../domain/credential-header.ts";
import { PosthornError } from "../../../domain/errors.ts";
import { type HeaderBlock, headerLine, headerValue, maskAll, toHeaderBlock } from "../../../domain/header-block.ts";
import { HOPS_HEADER } from "../../../domain/hops.ts";
import { MASK } from "../../../domain/mask.ts";
import { blocked, failedHere, tooLarge, type Outcome } from "../../../domain/outcome.ts";
import { createSigner, type Signer } from "../../../domain/signature.ts";
import type { Subscription } from "../../../domain/subscription.ts";
import type { HealthAddress } from "../../../domain/target-presets.ts";
import type { HttpResponse, HttpResult } from "../../wire/http-client.ts";
import { ONE_BY_ONE, type Attempt, type AttemptReport, type Sender } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { buildAttemptHeaders } from "./attempt-headers.ts";
import { classify } from "./classify.ts";
import { type ForwardedRequest, prepareForward } from "./forward.ts";
import { createHealthCheck } from "./health-check.ts";
import { type PreparedAuth, prepareAuth, requestWithToken } from "./login.ts";
import { createOAuth2Tokens } from "./oauth2-tokens.ts";
import { buildPayload } from "./payload.ts";
import type { HttpDestination, HttpSettings } from "./settings.ts";
import { expandUrl } from "./url-template.ts";

/** What all attempts for one subscription have in common. */
interface Prepared {
  destination: HttpDestination;
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

type HttpSenderOptions = Pick<SenderServices, "client" | "clock" | "userAgent"> & Partial<SenderServices>;

export function openHttpSender(options: HttpSenderOptions): Sender<HttpSettings> {
  const { client, clock, userAgent, findOwnUrlProblem } = options;
  const tokens = createOAuth2Tokens({ client, clock, userAgent });
  const checkHealth = createHealthCheck({ client, userAgent });
  const prepared = new WeakMap<Subscription, Prepared>();

  function prepare(subscription: Subscription): Prepared {
    const known = prepared.get(subscription);
    if (known !== undefined) return known;
    const destination = subscription.destination as HttpDestination;
    const { headers, signatureHeader } = destination;
    const isForwarding = subscription.mode === "forward";
    const hasOwnAgent = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
    // Where the sender's own is handed on, ours is for the requests that had none.
    const handsAgentOn = isForwarding && destination.forwardHeaders?.includes("user-agent") === true;
    const common = hasOwnAgent || handsAgentOn ? "" : headerLine("User-Agent", userAgent);
    const auth = prepareAuth(destination, subscription.tenantId);
    const login = auth.authorization === undefined ? "" : headerLine("Authorization", auth.authorization);
    const originHeaders = toHeaderBlock(headers) + login;
    const token = auth.tokenClient === undefined ? "" : headerLine("Authorization", MASK);
    const made = {
      destination,
      signer: createSigner(subscription.secrets, subscription),
      signatureHeader,
      nextHeader: subscription.nextSecret === undefined ? undefined : `${signatureHeader}-Next`,
      headers: common,
      originHeaders,
      recorded: common + maskAll(originHeaders) + token,
      auth,
      // Where the gateway is reached may have changed since the subscription was made.
      problem: destination.allowOwnUrl ? undefined : findOwnUrlProblem?.(destination.url),
      forward: isForwarding
        ? prepareForward(destination, {
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
      destination,
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
      setImmediate(done, unsentReport(attempt, startedAt, blocked(problem)));
      return;
    }
    const { body, contentType: ownType } = buildPayload(deliveryId, event, destination.format);
    const { maxBytes } = destination;
    if (maxBytes !== undefined && body.length > maxBytes) {
      const error = `its body of ${body.length} bytes is larger than the target takes (${maxBytes})`;
      setImmediate(done, unsentReport(attempt, startedAt, tooLarge(error)));
      return;
    }
    const contentType = destination.wantsPlainJson && SOME_JSON.test(ownType) ? "application/json" : ownType;
    const startedAtS = Math.floor(startedAt / 1000);
    const { seed, next, standard } = signer.sign(event.originId ?? event.id, startedAtS, body);
    const facts = { deliveryId, eventId: event.originId ?? event.id, eventType: event.type, number, startedAtS };
    // All that others chose, here and in `prepare`, is checked; the rest is made here.
    const own =
      `Content-Type: ${headerValue(contentType)}\r\n${signatureHeader}: ${seed}\r\n` +
      `webhook-signature: ${standard}\r\n${nextHeader === undefined ? "" : `${nextHeader}: ${next}\r\n`}` +
      `${HOPS_HEADER}: ${(event.hops ?? 0) + 1}\r\n`;
    const url = expandUrl(destination.url, event.source);
    const forwarded = forward?.(attempt, url);
    const headers = buildAttemptHeaders(facts) + own + common + (forwarded?.headers ?? "");
    const requestHeaders = own + recorded + (forwarded?.recorded ?? "");
    const startedNow = clock.now();
    const { tenantId: owner } = subscription;
    const timeoutMs = forwarded?.timeoutMs ?? subscription.timeoutMs;
    const { terms, tokenClient } = auth;
    const report = (result: HttpResult): void => {
      const answer = findAnswer(result);
      done({
        outcome: classify(result, destination.retryOn, clock.wall),
        startedAt,
        durationMs: Math.max(0, clock.now() - startedNow),
        record: {
          url: result.kind === "response" ? result.url : (forwarded?.url ?? url),
          address: result.address,
          requestHeaders,
          responseCode: answer?.status,
          responseHeaders: answer === undefined ? undefined : maskedJson(answer.headers),
          responseBody: answer?.body,
        },
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
      findHopProblem: destination.allowOwnUrl ? undefined : findOwnUrlProblem,
    } as const;
    if (tokenClient === undefined) client.request(request, report);
    else requestWithToken({ client, tokens, clock }, tokenClient, request, report);
  }

  return {
    limitsOf: () => ONE_BY_ONE,
    send(attempts, done) {
      const [attempt] = attempts;
      const startedAt = clock.wall();
      if (attempt === undefined || attempts.length > 1) {
        setImmediate(() =>
          done(attempts.map((each) => unsentReport(each, startedAt, failedHere("one delivery at a time")))),
        );
        return;
      }
      try {
        sendOne(attempt, startedAt, (report) => done([report]));
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        setImmediate(() => done([unsentReport(attempt, startedAt, failedHere(reason))]));
      }
    },
    refuse(settings) {
      const url = expandUrl(settings.url, "source");
      options.checkUrl?.(url, "url");
      const problem = settings.allow_own_url === true ? undefined : findOwnUrlProblem?.(url);
      if (problem !== undefined) {
        throw new PosthornError("invalid_field", `The destination cannot be used: ${problem}`, { field: "url" });
      }
      if (typeof settings.health_url === "string") options.checkUrl?.(settings.health_url, "health_url");
      if (settings.auth?.token_url !== undefined) options.checkUrl?.(settings.auth.token_url, "auth.token_url");
    },
    checkHealth: (place, owner, done) => checkHealth(place as HealthAddress, owner, done),
    close: () => client.close(),
  };
}

/** Also what came of one before the deadline. */
function findAnswer(result: HttpResult): HttpResponse | undefined {
  if (result.kind === "response") return result;
  return result.kind === "timed_out" ? result.response : undefined;
}

/** `application/cloudevents+json` and its like. */
const SOME_JSON = /^[^;]*\+json\s*(;|$)/i;

/** Nothing was sent. */
function unsentReport(attempt: Attempt, startedAt: number, outcome: Outcome): AttemptReport {
  const { url } = attempt.subscription.destination as HttpDestination;
  const record = {
    url: expandUrl(url, attempt.event.source),
    address: undefined,
    requestHeaders: "",
    responseCode: undefined,
    responseHeaders: undefined,
    responseBody: undefined,
  };
  return { outcome, startedAt, durationMs: 0, record };
}

function maskedJson(headers: Readonly<Record<string, string>>): string {
  let shown = headers;
  for (const name in headers) {
    if (isCredentialHeader(name)) shown = { ...shown, [name]: MASK };
  }
  return JSON.stringify(shown);
}
