import type { FieldCheck } from "../../../model/subscription-rules.ts";
import type { SmsSettings } from "../schema.ts";

/** A service that sends SMS. There is a small file for each. */
export interface SmsGateway {
  readonly needs: readonly (keyof SmsSettings)[];
  /** Settings of other gateways. */
  readonly excludes: readonly (keyof SmsSettings)[];
  /** Further rules for its settings. */
  check(settings: SmsSettings): FieldCheck[];
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
