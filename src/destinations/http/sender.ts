import {
  isCredentialHeader,
  type HeaderBlock,
  headerLine,
  headerValue,
  maskAll,
  maskCredentials,
  parseHeaderBlock,
  toHeaderBlock,
  withoutHeaders,
} from "../../model/headers.ts";
import { PosthornError } from "../../model/errors.ts";
import { HOPS_HEADER } from "../../model/event.ts";
import { MASK } from "../../model/secrets.ts";
import { blocked, failed, failedHere, tooLarge, type Outcome } from "../../model/outcome.ts";
import { createSigner, type Signer } from "../../model/signature.ts";
import type { Subscription } from "../../model/subscription.ts";
import type { HealthAddress } from "../../model/target-rules.ts";
import type { Templates } from "../../sandbox/templates/templates.ts";
import type { HttpResponse, HttpResult } from "../wire/http-client.ts";
import { findLeftOut } from "../outgoing-header.ts";
import { ONE_BY_ONE, type Attempt, type AttemptReport, type Sender } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { toTemplateFacts, unrendered } from "../templated.ts";
import { traceLines } from "../trace-lines.ts";
import { buildAttemptHeaders } from "./attempt-headers.ts";
import { classify } from "../classify-answer.ts";
import { type ForwardedRequest, prepareForward } from "./forward.ts";
import { createHealthCheck } from "./health-check.ts";
import { type PreparedAuth, prepareAuth, requestWithToken } from "../login.ts";
import { createOAuth2Tokens } from "../oauth2-tokens.ts";
import { createPermissions } from "./permission.ts";
import { buildPayload, type Payload } from "./payload.ts";
import type { RequestParts, RequestTemplates } from "./request-templates.ts";
import type { HttpDestination, HttpSettings } from "./settings.ts";
import { expandUrl, isUrlTemplate } from "./url-template.ts";

/** What all attempts of one subscription have in common. */
interface Prepared {
  destination: HttpDestination;
  signer: Signer;
  /** The header for the signature with a rotation's new secret; undefined when there is none. */
  nextHeader: string | undefined;
  /** The name is checked already. */
  signatureHeader: string;
  headers: HeaderBlock;
  /** Headers that the subscription sets, only for its own destination. */
  originHeaders: HeaderBlock;
  /** Both sets of headers, with the subscription's values masked: any of them may be a secret. */
  recorded: HeaderBlock;
  auth: PreparedAuth;
  /** Why nothing can be sent at all. */
  problem: string | undefined;
  /** Our headers that a forwarded request does not have, because it has the sender's; undefined when there are none. */
  leftOut: ReadonlySet<string> | undefined;
  /** Only for subscriptions that forward requests. */
  forward: ((attempt: Attempt, url: string) => ForwardedRequest) | undefined;
}

type HttpSenderOptions = Pick<SenderServices, "client" | "clock" | "userAgent"> & Partial<SenderServices>;

export function openHttpSender(options: HttpSenderOptions): Sender<HttpSettings> {
  const { client, clock, userAgent, findOwnUrlProblem } = options;
  const tokens = createOAuth2Tokens({ client, clock, userAgent });
  const checkHealth = createHealthCheck({ client, userAgent });
  const permissions = createPermissions({ client, clock, userAgent, origin: options.publicHost ?? "localhost" });
  const prepared = new WeakMap<Subscription, Prepared>();

  function prepare(subscription: Subscription): Prepared {
    const known = prepared.get(subscription);
    if (known !== undefined) return known;
    const destination = subscription.destination as HttpDestination;
    const { headers, signatureHeader } = destination;
    const isForwarding = subscription.mode === "forward";
    const hasOwnAgent = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
    // When the sender's User-Agent is passed on, ours is only for requests without one.
    const handsAgentOn = isForwarding && destination.forwardHeaders?.includes("user-agent") === true;
    const common = hasOwnAgent || handsAgentOn ? "" : headerLine("User-Agent", userAgent);
    const auth = prepareAuth(destination, subscription.tenantId);
    const login = auth.authorization === undefined ? "" : headerLine("Authorization", auth.authorization);
    const originHeaders = toHeaderBlock(headers) + login;
    const leftOut = isForwarding ? findLeftOut(destination.forwardHeaders ?? [], signatureHeader.toLowerCase()) : NONE;
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
      leftOut: leftOut.size === 0 ? undefined : leftOut,
      // The gateway's own URL may have changed since the subscription was created.
      problem: destination.allowOwnUrl ? undefined : findOwnUrlProblem?.(destination.url),
      forward: isForwarding
        ? prepareForward(destination, {
            userAgent: handsAgentOn && !hasOwnAgent ? userAgent : undefined,
            openCredentials: options.openCredentials,
          })
        : undefined,
    };
    // Throws when the name is invalid, because it is written below without a check.
    headerLine(made.signatureHeader, "");
    prepared.set(subscription, made);
    return made;
  }

  function sendOne(attempt: Attempt, startedAt: number, done: Done): void {
    const { destination, problem } = prepare(attempt.subscription);
    if (problem !== undefined) {
      setImmediate(done, unsentReport(attempt, startedAt, blocked(problem)));
      return;
    }
    if (!destination.needsPermission) return sendPermitted(attempt, startedAt, done);
    askPermission(attempt.subscription, attempt.event.source, (refusal) => {
      if (refusal !== undefined) return done(unsentReport(attempt, startedAt, failed(refusal)));
      tryTo(attempt, startedAt, done, () => sendPermitted(attempt, startedAt, done));
    });
  }

  function askPermission(
    subscription: Subscription,
    source: string,
    done: (refusal: string | undefined) => void,
  ): void {
    const { destination, originHeaders, auth } = prepare(subscription);
    permissions.ask(subscription, { url: expandUrl(destination.url, source), originHeaders, terms: auth.terms }, done);
  }

  /** When the URL depends on the event, the first attempt starts the handshake instead. */
  function beginHandshake(subscription: Subscription): void {
    const { destination, problem } = prepare(subscription);
    if (!destination.needsPermission || problem !== undefined || isUrlTemplate(destination.url)) return;
    askPermission(subscription, "", (refusal) => {
      if (refusal !== undefined) options.warn?.(subscription, refusal);
    });
  }

  function sendPermitted(attempt: Attempt, startedAt: number, done: Done): void {
    const { templates } = attempt.subscription.destination as HttpDestination;
    if (templates === undefined) return transmit(attempt, startedAt, undefined, done);
    // The event itself must never be sent instead of a rendered template.
    if (options.templates === undefined) throw new Error("there is no renderer for templates");
    void sendRendered(options.templates, templates, attempt, startedAt, done);
  }

  /** Renders first, because the signature covers the rendered body. */
  async function sendRendered(
    service: Templates,
    templates: RequestTemplates,
    attempt: Attempt,
    startedAt: number,
    done: Done,
  ): Promise<void> {
    const rendered = await service.render(templates.list, toTemplateFacts(attempt));
    const parts = "texts" in rendered ? templates.toParts(rendered.texts) : rendered;
    if ("fault" in parts) {
      const outcome = unrendered({ isPassing: false, ...parts });
      return done(unsentReport(attempt, startedAt, outcome));
    }
    tryTo(attempt, startedAt, done, () => transmit(attempt, startedAt, parts, done));
  }

  /** `parts`: what is sent instead of the event. */
  function transmit(attempt: Attempt, startedAt: number, parts: RequestParts | undefined, done: Done): void {
    const { deliveryId, number, event, subscription } = attempt;
    const {
      destination,
      signer,
      signatureHeader,
      nextHeader,
      headers: common,
      recorded,
      auth,
      forward,
      originHeaders,
      leftOut,
    } = prepare(subscription);
    const { body, contentType: ownType } =
      parts?.body === undefined ? buildPayload(deliveryId, event, destination.format) : toPayload(parts, parts.body);
    const { maxBytes } = destination;
    if (maxBytes !== undefined && body.length > maxBytes) {
      const error = `its body of ${body.length} bytes is larger than the target accepts (${maxBytes})`;
      setImmediate(done, unsentReport(attempt, startedAt, tooLarge(error)));
      return;
    }
    const contentType = destination.wantsPlainJson && SOME_JSON.test(ownType) ? "application/json" : ownType;
    const startedAtS = Math.floor(startedAt / 1000);
    const { seed, next, standard } = signer.sign(event.originId ?? event.id, startedAtS, body);
    const isTraced = (attempt.trace ?? event.trace) !== undefined;
    const facts = {
      deliveryId,
      eventId: event.originId ?? event.id,
      eventType: event.type,
      number,
      startedAtS,
      isTraced,
    };
    // All values that users or senders chose were checked, here or in `prepare`; the rest is built here.
    const own =
      `Content-Type: ${headerValue(contentType)}\r\n${signatureHeader}: ${seed}\r\n` +
      `webhook-signature: ${standard}\r\n${nextHeader === undefined ? "" : `${nextHeader}: ${next}\r\n`}` +
      `${HOPS_HEADER}: ${(event.hops ?? 0) + 1}\r\n${isTraced ? traceLines(attempt) : ""}`;
    const url = parts?.url ?? expandUrl(destination.url, event.source);
    const templated = parts?.headers ?? "";
    const forwarded = forward?.(attempt, url);
    const ours = buildAttemptHeaders(facts) + own;
    const rest = recorded + maskCredentials(templated) + (forwarded?.recorded ?? "");
    let [sent, requestHeaders] = [ours, own + rest];
    if (leftOut !== undefined && attempt.request !== undefined) {
      sent = withoutHeaders(ours, leftOut);
      requestHeaders = recordInFull(sent + rest);
    }
    const headers = sent + common + templated + (forwarded?.headers ?? "");
    const startedNow = clock.now();
    const { tenantId: owner } = subscription;
    // Rendering has used a part of the attempt's time.
    const leftMs = parts === undefined ? subscription.timeoutMs : subscription.timeoutMs - (clock.wall() - startedAt);
    const timeoutMs = forwarded?.timeoutMs ?? Math.max(MIN_TIMEOUT_MS, leftMs);
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
      const report: Done = (one) => done([one]);
      tryTo(attempt, startedAt, report, () => sendOne(attempt, startedAt, report));
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
    beginHandshake(subscription) {
      try {
        beginHandshake(subscription);
      } catch (error) {
        // The first attempt reports why the destination cannot be used.
        options.warn?.(subscription, error instanceof Error ? error.message : String(error));
      }
    },
    handshakeOf: (subscription) =>
      (subscription.destination as HttpDestination).needsPermission ? permissions.find(subscription) : undefined,
    checkHealth: (place, owner, done) => checkHealth(place as HealthAddress, owner, done),
    close: () => client.close(),
  };
}

/** The smallest timeout that can be configured. */
const MIN_TIMEOUT_MS = 1000;

type Done = (report: AttemptReport) => void;

function tryTo(attempt: Attempt, startedAt: number, done: Done, act: () => void): void {
  try {
    act();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    setImmediate(() => done(unsentReport(attempt, startedAt, failedHere(reason))));
  }
}

function toPayload({ contentType = "application/octet-stream" }: RequestParts, body: Uint8Array): Payload {
  return { body, contentType };
}

const NONE: ReadonlySet<string> = new Set();

/**
 * For an attempt without some of the headers that are otherwise built again when it is shown. The line end keeps it out
 * of the forms that attempts share.
 */
function recordInFull(headers: HeaderBlock): string {
  return `${JSON.stringify(parseHeaderBlock(headers))}\r\n`;
}

/** Includes the part of an answer that came before the deadline. */
function findAnswer(result: HttpResult): HttpResponse | undefined {
  if (result.kind === "response") return result;
  return result.kind === "timed_out" ? result.response : undefined;
}

/** `application/cloudevents+json` and similar types. */
const SOME_JSON = /^[^;]*\+json\s*(;|$)/i;

/** For an attempt that sent nothing. */
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
