import { PosthornError } from "../../model/errors.ts";
import { headerLine, toHeaderBlock } from "../../model/headers.ts";
import { blocked, failed, postponed, refused, type Outcome } from "../../model/outcome.ts";
import type { HttpResult } from "../wire/http-client.ts";
import { createAttemptRuns, type AttemptRun } from "../attempt-runs.ts";
import { classify } from "../classify-answer.ts";
import { isTemplate } from "../is-template.ts";
import { keepOwnRecord } from "../own-record.ts";
import { readPayload, textIn } from "../payload-fields.ts";
import { ONE_BY_ONE, type Attempt, type AttemptRecordPart, type Sender } from "../sender.ts";
import type { SenderServices } from "../services.ts";
import { renderAll } from "../render-all.ts";
import { unrendered } from "../templated.ts";
import { createTenantRates } from "../tenant-rates.ts";
import { traceLines } from "../trace-lines.ts";
import type { GatewayAnswer, GatewayRequest, SmsMessage } from "./gateways/gateway.ts";
import { GATEWAYS } from "./gateways/gateways.ts";
import { createNumberTurns } from "./number-turns.ts";
import { loadPhoneNumbers, type NormaliseNumber } from "./phone-number.ts";
import { countSegments, type Segments } from "./segments.ts";
import { DEFAULT_MAX_SEGMENTS, type SmsDestination, type SmsSettings } from "./settings.ts";
import { toFilled } from "./sms-templates.ts";

const HOUR_MS = 3_600_000;
const TAGS = /\{\{.*?\}\}|\{%.*?%\}/gs;
const PLAIN = { statuses: [], sourceStatuses: [], bodyContains: undefined, bodyIs: undefined };

/** A checked message that may be sent. */
interface Checked {
  message: SmsMessage;
  segments: Segments;
}

export function openSmsSender(services: SenderServices): Sender<SmsSettings> {
  const { clock, client, sms: config, userAgent } = services;
  const rateOf = createTenantRates(config?.tenantRate ?? Number.MAX_SAFE_INTEGER);
  const numberRate = config?.numberRate ?? Number.MAX_SAFE_INTEGER;
  const turns = createNumberTurns({ max: numberRate, windowMs: HOUR_MS });
  const runs = createAttemptRuns({
    clock,
    farEnd: "the SMS gateway",
    emptyRecord: ({ subscription }) => keepOwnRecord(subscription.place, {}),
  });
  let numbers: Promise<NormaliseNumber> | undefined;

  async function normalise(text: string, { default_country: country }: SmsSettings) {
    const normaliseNumber = await (numbers ??= loadPhoneNumbers());
    return normaliseNumber(text, country ?? config?.defaultCountry);
  }

  async function findMessage(attempt: Attempt): Promise<Checked | Outcome> {
    const { settings, templates } = attempt.subscription.destination as SmsDestination;
    const rendered = await renderAll(services.templates, templates.message, attempt);
    if ("fault" in rendered) return unrendered(rendered);
    const own = { to: settings.to ?? "", text: settings.text ?? "", ...toFilled(templates.message, rendered.texts) };
    const texts = settings.fields_from === "payload" ? takeFromPayload(attempt) : own;
    if (typeof texts === "string") return notSent(texts);
    const { to, text } = texts;
    const parsed = await normalise(to, settings);
    if (parsed.problem !== undefined) return notSent(`to: ${parsed.problem}`);
    if (text.trim() === "") return notSent("text: is empty");
    const segments = countSegments(text);
    const max = settings.max_segments ?? DEFAULT_MAX_SEGMENTS;
    if (segments.count > max) {
      return notSent(`text: needs ${segments.count} messages (${segments.encoding}); max_segments is ${max}`);
    }
    return { message: { to: parsed.number, text, id: `${attempt.deliveryId}.${attempt.generation}` }, segments };
  }

  async function writeRequest(attempt: Attempt, message: SmsMessage): Promise<GatewayRequest | Outcome> {
    const { settings, templates } = attempt.subscription.destination as SmsDestination;
    const own = { message: { ...message, from: settings.from ?? "" } };
    const rendered = await renderAll(services.templates, templates.request, attempt, own);
    if ("fault" in rendered) return unrendered(rendered);
    const request = GATEWAYS[settings.gateway].write(message, {
      ...settings,
      ...toFilled(templates.request, rendered.texts),
    });
    const problem = services.findOwnUrlProblem(request.url);
    return problem === undefined ? request : blocked(problem);
  }

  async function sendOne(attempt: Attempt, run: AttemptRun): Promise<void> {
    const { subscription, deliveryId, event } = attempt;
    const { settings } = subscription.destination as SmsDestination;
    const gateway = GATEWAYS[settings.gateway];
    const checked = await findMessage(attempt);
    if ("kind" in checked) return run.end(checked);
    const { message, segments } = checked;
    const facts = { to: message.to, encoding: segments.encoding, segments: segments.count };
    const request = await writeRequest(attempt, message);
    if ("kind" in request) return run.end(request, keepOwnRecord(subscription.place, facts));
    // Not the subscription's tenant: an operator's subscription sends the events of many tenants.
    const { tenantId } = event;
    const waitMs = turns.ask({ tenantId, number: message.to }, deliveryId, clock.now());
    if (waitMs > 0) {
      const error =
        `the tenant ${tenantId} has sent ${numberRate} messages within an hour to ${message.to}; ` +
        "it is sent when its turn comes";
      return run.end(postponed(error, waitMs), keepOwnRecord(request.url, facts));
    }
    if (run.isOver) return;
    client.request(toHttp(request, attempt), (result) => {
      const answer = findAnswer(result);
      const told = { ...facts, ...(answer && gateway.factsOf?.(answer)) };
      run.end(judge(result, answer, settings), keepAnswer(request.url, told, result));
    });
  }

  function toHttp({ method, url, contentType, headers, body }: GatewayRequest, attempt: Attempt) {
    const { subscription } = attempt;
    const own = body === "" ? "" : headerLine("Content-Type", contentType);
    return {
      method,
      url,
      headers: headerLine("User-Agent", userAgent) + own + traceLines(attempt),
      originHeaders: toHeaderBlock(headers),
      body: Buffer.from(body, "utf8"),
      timeoutMs: subscription.timeoutMs,
      owner: subscription.tenantId,
      findHopProblem: services.findOwnUrlProblem,
    };
  }

  function judge(result: HttpResult, answer: GatewayAnswer | undefined, settings: SmsSettings): Outcome {
    const gateway = GATEWAYS[settings.gateway];
    const outcome = classify(result, PLAIN, clock.wall);
    if (answer === undefined) return outcome;
    if (outcome.kind !== "delivered") {
      const more = gateway.describeFailure?.(answer);
      return more === undefined ? outcome : { ...outcome, error: `${outcome.error}; ${more}` };
    }
    const objection = gateway.findObjection(answer, settings);
    if (objection === undefined) return outcome;
    return objection.isFinal ? refused(objection.reason) : failed(objection.reason, { says: "doubtful" });
  }

  return {
    isForOperators: config?.allowTenants !== true,
    limitsOf: ({ tenantId }) => ({ ...ONE_BY_ONE, sharedRate: rateOf(tenantId, clock.now()) }),
    send(attempts, done) {
      const [attempt] = attempts as [Attempt];
      runs.begin(attempt, done, (run) => sendOne(attempt, run));
    },
    async refuse(settings) {
      const url = GATEWAYS[settings.gateway].urlOf(settings).replaceAll(TAGS, "x");
      services.checkUrl(url, "destination.url");
      const problem = services.findOwnUrlProblem(url);
      if (problem !== undefined) throw invalid("url", problem);
      const { to } = settings;
      if (!to || isTemplate(to)) return;
      const parsed = await normalise(to, settings);
      if (parsed.problem !== undefined) throw invalid("to", parsed.problem);
    },
    warnOf: (settings) => GATEWAYS[settings.gateway].warnOf?.(settings) ?? [],
    close() {
      runs.close();
      return Promise.resolve();
    },
  };
}

/** Reads `to` and `text` from the event. */
function takeFromPayload({ event }: Attempt): { to: string; text: string } | string {
  const payload = readPayload(event);
  if (typeof payload === "string") return payload;
  const [to, text = ""] = [textIn(payload, "to"), textIn(payload, "text")];
  return to === undefined ? "payload: `to` must be a phone number" : { to, text };
}

function notSent(reason: string): Outcome {
  return refused(reason, { result: "blocked", says: "nothing" });
}

function findAnswer(result: HttpResult): GatewayAnswer | undefined {
  if (result.kind !== "response") return undefined;
  const { buffer, byteOffset, byteLength } = result.body;
  return { status: result.status, body: Buffer.from(buffer, byteOffset, byteLength).toString("utf8") };
}

function keepAnswer(url: string, facts: object, result: HttpResult): AttemptRecordPart {
  const record = { ...keepOwnRecord(url, { ...facts }), address: result.address };
  if (result.kind !== "response") return record;
  return { ...record, responseCode: result.status, responseBody: result.body };
}

function invalid(field: string, problem: string): PosthornError {
  return new PosthornError("invalid_field", `destination.${field}: ${problem}`, { field: `destination.${field}` });
}
