import type { FieldProblem } from "../../../../domain/subscription-rules.ts";
import type { SmsSettings } from "../settings.ts";

/** How messages are handed to those who send them: a small file each. */
export interface SmsGateway {
  /** What stands in `gateway`. */
  readonly name: SmsSettings["gateway"];
  /** Settings that it needs, and those that are for others. */
  check(settings: SmsSettings): FieldProblem[];
  /** Where requests go, before templates in it are filled in. */
  urlOf(settings: SmsSettings): string;
  write(message: SmsMessage, settings: SmsSettings): GatewayRequest;
  /** What speaks against a message that was answered with 2xx; undefined when it was taken. */
  findObjection(answer: GatewayAnswer, settings: SmsSettings): Objection | undefined;
  /** What an answer that is no success says, for people. */
  describeFailure(answer: GatewayAnswer): string | undefined;
  /** What to keep of an answer: an id, for instance. */
  factsOf?(answer: GatewayAnswer): Readonly<Record<string, unknown>>;
}

export interface SmsMessage {
  /** E.164. */
  readonly to: string;
  readonly text: string;
  /** The same in all attempts of a delivery; another after a replay. */
  readonly id: string;
}

export interface GatewayRequest {
  readonly method: string;
  readonly url: string;
  readonly contentType: string;
  /** For the origin of `url` only. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface GatewayAnswer {
  readonly status: number;
  /** At most 8 KB of it. */
  readonly body: string;
}

export interface Objection {
  readonly reason: string;
  /** It would be the same the next time. */
  readonly isFinal: boolean;
}

/** An answer as JSON; undefined when it is none. */
export function parseAnswer({ body }: GatewayAnswer): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Settings of one gateway that another does not have. */
export function findForeign(
  settings: SmsSettings,
  { name }: Pick<SmsGateway, "name">,
  fields: readonly (keyof SmsSettings)[],
): FieldProblem[] {
  const isGiven = (field: keyof SmsSettings) => (settings[field] ?? null) !== null;
  return fields.filter(isGiven).map((field) => ({ field, message: `is not for the gateway ${name}` }));
}

/** Those that it cannot do without. */
export function findMissing(
  settings: SmsSettings,
  { name }: Pick<SmsGateway, "name">,
  fields: readonly (keyof SmsSettings)[],
): FieldProblem[] {
  const isMissing = (field: keyof SmsSettings) => (settings[field] ?? null) === null;
  return fields.filter(isMissing).map((field) => ({ field, message: `is missing; the gateway ${name} needs it` }));
}
