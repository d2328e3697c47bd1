import { isCredentialHeader, maskAll, parseHeaderBlock } from "../../model/headers.ts";
import { MASK } from "../../model/secrets.ts";
import { blocked, failed, failedHere, tooLarge, UNSENT, type Outcome } from "../../model/outcome.ts";
import type { Subscription } from "../../model/subscription.ts";
import type { HealthAddress } from "../../model/target-rules.ts";
import type { HttpClient, HttpResponse, HttpResult } from "../wire/http.ts";
import { parseObject } from "../json.ts";
import {
  ONE_BY_ONE,
  type Attempt,
  type AttemptReport,
  type Sender,
  type SenderServices,
  type RequestPreview,
} from "../sender.ts";
import { toTemplateFacts, unrendered } from "../templated.ts";
import { oncePer } from "../once-per.ts";
import { prepareRequests } from "./prepare.ts";
import { buildRequest, type BuiltRequest } from "./request.ts";
import { classify } from "../classify-answer.ts";
import { checkPlaces, createTokenRequests } from "../login.ts";
import { createPermissions } from "./permission.ts";
import { type RequestParts, type RequestTemplates, expandUrl, isUrlTemplate } from "./request-templates.ts";
import type { HttpDestination, HttpSettings } from "./settings.ts";

export function openHttpSender(services: SenderServices): Sender<HttpSettings> {
  const { client, clock } = services;
  const requestWithToken = createTokenRequests(services);
  const checkHealth = createHealthCheck(services);
  const permissions = createPermissions(services);
  const prepare = oncePer((subscription: Subscription) => prepareRequests(subscription, services));

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
    const { destination, access } = prepare(subscription);
    permissions.ask(subscription, expandUrl(destination.url, source), access, done);
  }

  /** When the URL depends on the event, the first attempt starts the handshake instead. */
  function beginHandshake(subscription: Subscription): void {
    const { destination, problem } = prepare(subscription);
    if (!destination.needsPermission || problem !== undefined || isUrlTemplate(destination.url)) return;
    askPermission(subscription, "", (refusal) => {
      if (refusal !== undefined) services.warn(subscription, refusal);
    });
  }

  function sendPermitted(attempt: Attempt, startedAt: number, done: Done): void {
    const { templates } = attempt.subscription.destination as HttpDestination;
    if (templates === undefined) return transmit(attempt, startedAt, undefined, done);
    void sendRendered(templates, attempt, startedAt, done);
  }

  async function renderParts(templates: RequestTemplates, attempt: Attempt): Promise<RequestParts | { fault: string }> {
    const rendered = await services.templates.render(templates.list, toTemplateFacts(attempt));
    return "texts" in rendered ? templates.toParts(rendered.texts) : rendered;
  }

  /** Renders first, because the signature covers the rendered body. */
  async function sendRendered(
    templates: RequestTemplates,
    attempt: Attempt,
    startedAt: number,
    done: Done,
  ): Promise<void> {
    const parts = await renderParts(templates, attempt);
    if ("fault" in parts) {
      const outcome = unrendered({ isPassing: false, ...parts });
      return done(unsentReport(attempt, startedAt, outcome));
    }
    tryTo(attempt, startedAt, done, () => transmit(attempt, startedAt, parts, done));
  }

  /** `parts`: what is sent instead of the event. */
  function transmit(attempt: Attempt, startedAt: number, parts: RequestParts | undefined, done: Done): void {
    const prepared = prepare(attempt.subscription);
    const spentMs = parts === undefined ? 0 : clock.wall() - startedAt;
    const request = buildRequest(prepared, attempt, startedAt, parts, spentMs);
    if (typeof request === "string") {
      setImmediate(done, unsentReport(attempt, startedAt, tooLarge(request)));
      return;
    }
    const startedNow = clock.now();
    const report = (result: HttpResult): void => {
      const answer = findAnswer(result);
      done({
        outcome: classify(result, prepared.destination.retryOn, clock.wall),
        startedAt,
        durationMs: Math.max(0, clock.now() - startedNow),
        record: {
          place: result.kind === "response" ? result.url : request.place,
          address: result.address,
          sent: request.recorded,
          code: answer?.status,
          facts: answer === undefined ? undefined : maskedJson(answer.headers),
          answer: answer?.body,
        },
      });
    };
    const { tokenClient } = prepared.access;
    if (tokenClient === undefined) client.request(request, report);
    else requestWithToken(tokenClient, request, report);
  }

  /** The request that would be passed to the client. A preview requests no token, and shows no credentials. */
  async function preview(attempt: Attempt): Promise<RequestPreview | { problem: string }> {
    const { subscription } = attempt;
    const destination = { ...(subscription.destination as HttpDestination), auth: undefined };
    try {
      const prepared = prepare({ ...subscription, destination });
      if (prepared.problem !== undefined) return { problem: prepared.problem };
      const parts = destination.templates && (await renderParts(destination.templates, attempt));
      if (parts !== undefined && "fault" in parts) return { problem: parts.fault };
      const request = buildRequest(prepared, attempt, clock.wall(), parts, 0);
      return typeof request === "string" ? { problem: request } : toPreview(request);
    } catch (error) {
      return { problem: reasonOf(error) };
    }
  }

  return {
    limitsOf: () => ONE_BY_ONE,
    send(attempts, done) {
      const [attempt] = attempts as [Attempt];
      const startedAt = clock.wall();
      const report: Done = (one) => done([one]);
      tryTo(attempt, startedAt, report, () => sendOne(attempt, startedAt, report));
    },
    rules: {
      check(settings) {
        checkPlaces(services, "", expandUrl(settings.url, "source"), settings);
        if (typeof settings.health_url === "string") services.checkUrl(settings.health_url, "health_url");
      },
    },
    handshakes: {
      begin(subscription) {
        try {
          beginHandshake(subscription);
        } catch (error) {
          // The first attempt reports why the destination cannot be used.
          services.warn(subscription, reasonOf(error));
        }
      },
      find: (subscription) =>
        (subscription.destination as HttpDestination).needsPermission ? permissions.find(subscription) : undefined,
    },
    preview,
    checkHealth: (place, owner, done) => checkHealth(place as HealthAddress, owner, done),
    close: () => client.close(),
  };
}

type Done = (report: AttemptReport) => void;

function tryTo(attempt: Attempt, startedAt: number, done: Done, act: () => void): void {
  try {
    act();
  } catch (error) {
    setImmediate(() => done(unsentReport(attempt, startedAt, failedHere(reasonOf(error)))));
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Includes the part of an answer that came before the deadline. */
function findAnswer(result: HttpResult): HttpResponse | undefined {
  if (result.kind === "response") return result;
  return result.kind === "timed_out" ? result.response : undefined;
}

/** For an attempt that sent nothing. */
function unsentReport(attempt: Attempt, startedAt: number, outcome: Outcome): AttemptReport {
  const { url } = attempt.subscription.destination as HttpDestination;
  const place = expandUrl(url, attempt.event.source);
  return { outcome, startedAt, durationMs: 0, record: { ...UNSENT, place } };
}

function maskedJson(headers: Readonly<Record<string, string>>): string {
  let shown = headers;
  for (const name in headers) {
    if (isCredentialHeader(name)) shown = { ...shown, [name]: MASK };
  }
  return JSON.stringify(shown);
}

function toPreview({ method, headers, originHeaders, body }: BuiltRequest): RequestPreview {
  // Every header that the subscription sets may be a secret.
  return { method, headers: { ...parseHeaderBlock(headers), ...parseHeaderBlock(maskAll(originHeaders)) }, body };
}

const TIMEOUT_MS = 10_000;
const EMPTY = new Uint8Array(0);

/** With the guarded client: a health URL must not reach more than a delivery may. */
export function createHealthCheck({ client, userAgent }: { client: Pick<HttpClient, "request">; userAgent: string }) {
  const headers = { "User-Agent": userAgent, Accept: "application/json" };

  function ask(url: string, owner: string, done: (result: HttpResult) => void): void {
    client.request({ method: "GET", url, headers, body: EMPTY, timeoutMs: TIMEOUT_MS, owner }, done);
  }

  return ({ url, otherUrl }: HealthAddress, owner: string, done: (error: string | undefined) => void): void => {
    ask(url, owner, (result) => {
      const isUnknown = result.kind === "response" && result.status === 404;
      if (isUnknown && otherUrl !== undefined) ask(otherUrl, owner, (other) => done(findProblem(other)));
      else done(findProblem(result));
    });
  };
}

function findProblem(result: HttpResult): string | undefined {
  if (result.kind !== "response") return `health check: ${result.error}`;
  const { status, body } = result;
  if (status < 200 || status > 299) return `health check: answered ${status}`;
  const isOk = parseObject(new TextDecoder().decode(body))?.["status"] === "ok";
  return isOk ? undefined : `health check: answered ${status}, but not {"status":"ok"}`;
}
