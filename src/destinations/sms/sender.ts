import { PosthornError } from "../../model/errors.ts";
import { headerLine, toHeaderBlock } from "../../model/headers.ts";
import { blocked, failed, postponed, refused, type KindRecord, type Outcome } from "../../model/outcome.ts";
import type { HttpResult } from "../wire/http.ts";
import { createAttemptFrame, type AttemptRun } from "../attempt-frame.ts";
import { classify } from "../classify-answer.ts";
import { isTemplate, readPayload, textIn, renderAll, unrendered } from "../templated.ts";
import { viewOf } from "../json.ts";
import { checkPlaces } from "../login.ts";
import { keepOwnRecord } from "../own-record.ts";
import { ONE_BY_ONE, type Attempt, type Sender, type SenderServices } from "../sender.ts";
import { createTenantRates, createNumberTurns } from "../message-rates.ts";
import { traceLines } from "../outgoing-header.ts";
import type { GatewayAnswer, GatewayRequest, SmsMessage } from "./gateways/gateway.ts";
import { DEFAULT_MAX_SEGMENTS, type SmsSettings } from "./schema.ts";
import { GATEWAYS, type SmsDestination, toFilled } from "./settings.ts";

const HOUR_MS = 3_600_000;
const TAGS = /\{\{.*?\}\}|\{%.*?%\}/gs;
const NO_RETRIES = { statuses: [] };

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
  const frame = createAttemptFrame({ clock, lateOf: () => "the SMS gateway did not accept it" });
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

  async function sendOne(run: AttemptRun): Promise<void> {
    const { attempt } = run;
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
    if (run.outcome !== undefined) return;
    client.request(toHttp(request, attempt), (result) => {
      const answer = findAnswer(result);
      const recorded = { ...facts, ...(answer && gateway.factsOf?.(answer)) };
      run.end(outcomeOf(result, answer, settings), keepAnswer(request.url, recorded, result));
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

  function outcomeOf(result: HttpResult, answer: GatewayAnswer | undefined, settings: SmsSettings): Outcome {
    const gateway = GATEWAYS[settings.gateway];
    const outcome = classify(result, NO_RETRIES, clock.wall);
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
    limitsOf: ({ tenantId }) => ({ ...ONE_BY_ONE, sharedRate: rateOf(tenantId, clock.now()) }),
    send: (attempts, done) => void frame.begin(attempts, done, sendOne),
    rules: {
      isForOperators: config?.allowTenants !== true,
      async check(settings) {
        const url = GATEWAYS[settings.gateway].urlOf(settings).replaceAll(TAGS, "x");
        checkPlaces(services, "destination.", url);
        const { to } = settings;
        if (!to || isTemplate(to)) return;
        const { problem } = await normalise(to, settings);
        if (problem === undefined) return;
        throw new PosthornError("invalid_field", `destination.to: ${problem}`, { field: "destination.to" });
      },
      warnOf: (settings) => GATEWAYS[settings.gateway].warnOf?.(settings) ?? [],
    },
    close() {
      frame.close();
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
  return { status: result.status, body: viewOf(result.body).toString("utf8") };
}

function keepAnswer(url: string, facts: object, result: HttpResult): KindRecord {
  const record = { ...keepOwnRecord(url, { ...facts }), address: result.address };
  if (result.kind !== "response") return record;
  return { ...record, code: result.status, answer: result.body };
}

/** Returns the number in E.164 form, or the problem with it. */
export type NormaliseNumber = (
  text: string,
  defaultCountry: string | undefined,
) => { number: string; problem?: undefined } | { problem: string };

/**
 * The package is loaded at first use, because it contains the numbering plans of the world. It checks the length and
 * not the ranges of numbers, because networks open new ranges faster than packages are updated.
 */
async function loadPhoneNumbers(): Promise<NormaliseNumber> {
  const { parsePhoneNumberFromString, isSupportedCountry } = await import("libphonenumber-js/min");
  return (text, country) => {
    const shown = JSON.stringify(text.slice(0, 40));
    const isKnown = country !== undefined && isSupportedCountry(country);
    const parsed = parsePhoneNumberFromString(text, {
      ...(isKnown && { defaultCountry: country }),
      extract: false,
    });
    if (parsed?.isPossible() === true && parsed.ext === undefined) return { number: parsed.number };
    const hint = text.trim().startsWith("+") || isKnown ? "" : ", or set default_country";
    return {
      problem: `${shown} is not a phone number; write it with its country code, for example +491511234567${hint}`,
    };
  };
}

/** How many messages a network splits a text into, and the encoding it uses. */
export interface Segments {
  readonly encoding: "GSM-7" | "UCS-2";
  readonly count: number;
}

/** 3GPP TS 23.038 §6.2.1: one septet for each basic character, two for those with an escape. */
const BASIC = new Set(
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà",
);
const EXTENDED = new Set("\f^{}\\[~]|€");

/** Capacity of a single message, and of each of several, which begin with a header. */
const GSM = { single: 160, part: 153 };
const UCS = { single: 70, part: 67 };

export function countSegments(text: string): Segments {
  const signs = Array.from(text);
  const isGsm = signs.every((sign) => BASIC.has(sign) || EXTENDED.has(sign));
  const units = signs.map((sign) => (isGsm ? (BASIC.has(sign) ? 1 : 2) : sign.length));
  const { single, part } = isGsm ? GSM : UCS;
  const total = units.reduce((sum, size) => sum + size, 0);
  return { encoding: isGsm ? "GSM-7" : "UCS-2", count: total <= single ? 1 : countParts(units, part) };
}

/** A character of two units is not split. */
function countParts(units: readonly number[], size: number): number {
  let count = 1;
  let used = 0;
  for (const unit of units) {
    if (used + unit > size) {
      count++;
      used = 0;
    }
    used += unit;
  }
  return count;
}
