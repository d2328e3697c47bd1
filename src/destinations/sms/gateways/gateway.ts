import type { FieldProblem } from "../../../model/subscription-rules.ts";
import type { SmsSettings } from "../schema.ts";

/** A service that sends SMS. There is a small file for each. */
export interface SmsGateway {
  /** The value of `gateway`. */
  readonly name: SmsSettings["gateway"];
  /** Checks that the settings it needs are given, and those of other gateways are not. */
  check(settings: SmsSettings): FieldProblem[];
  /** Warnings about valid settings, as sentences. */
  warnOf?(settings: SmsSettings): readonly string[];
  /** The URL of requests, before its templates are filled in. */
  urlOf(settings: SmsSettings): string;
  write(message: SmsMessage, settings: SmsSettings): GatewayRequest;
  /**
   * Why a message that was answered with 2xx was not accepted; undefined when it was. Contains statuses and codes, but no
   * text of the answer, which is kept beside.
   */
  findObjection(answer: GatewayAnswer, settings: SmsSettings): Objection | undefined;
  /** The code of a failed answer, for people. */
  describeFailure?(answer: GatewayAnswer): string | undefined;
  /** What to store from an answer, for example an id. */
  factsOf?(answer: GatewayAnswer): Readonly<Record<string, unknown>>;
}

export interface SmsMessage {
  /** E.164. */
  readonly to: string;
  readonly text: string;
  /** The same in all attempts of a delivery; differs after a replay. */
  readonly id: string;
}

export interface GatewayRequest {
  readonly method: string;
  readonly url: string;
  readonly contentType: string;
  /** Sent only to the origin of `url`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface GatewayAnswer {
  readonly status: number;
  /** At most 8 KB. */
  readonly body: string;
}

export interface Objection {
  readonly reason: string;
  /** A retry would fail in the same way. */
  readonly isFinal: boolean;
}

/** The answer as JSON; undefined when it is not JSON. */
export function parseAnswer({ body }: GatewayAnswer): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Finds settings that belong to other gateways. */
export function findForeign(
  settings: SmsSettings,
  { name }: Pick<SmsGateway, "name">,
  fields: readonly (keyof SmsSettings)[],
): FieldProblem[] {
  const isGiven = (field: keyof SmsSettings) => (settings[field] ?? null) !== null;
  return fields.filter(isGiven).map((field) => ({ field, message: `does not belong to the gateway ${name}` }));
}

/** Finds required settings that are missing. */
export function findMissing(
  settings: SmsSettings,
  { name }: Pick<SmsGateway, "name">,
  fields: readonly (keyof SmsSettings)[],
): FieldProblem[] {
  const isMissing = (field: keyof SmsSettings) => (settings[field] ?? null) === null;
  return fields.filter(isMissing).map((field) => ({ field, message: `is missing; the gateway ${name} needs it` }));
}
