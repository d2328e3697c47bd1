import {
  DELIVERED,
  deliveredWith,
  failed,
  refused,
  tooLarge,
  type HealthSign,
  type KindRecord,
  type Outcome,
} from "../../model/outcome.ts";
import type { SmtpError, SmtpResult } from "./smtp-pool.ts";

/**
 * Which recipients have a message already. An SMTP server may accept it for some recipients and not for others, and
 * those who have it must not get it again. So the record of each attempt contains the state of all recipients, and the
 * next attempt continues from there.
 */
export interface RecipientStates {
  readonly generation: number;
  readonly accepted: readonly string[];
  /** Rejected permanently. */
  readonly refused: readonly StatedFault[];
  /** Rejected for now. */
  readonly deferred: readonly StatedFault[];
}

export interface StatedFault {
  readonly address: string;
  readonly answer: string;
}

/** The recipients of an attempt, and the states of the others. */
export interface OpenRecipients {
  readonly open: readonly string[];
  readonly before: RecipientStates;
}

/**
 * A retry goes to the recipients that the server deferred. A replay goes to all; but if the delivery had ended while
 * some recipients did not have the message, only to these.
 */
export function findOpen(
  all: readonly string[],
  earlier: readonly KindRecord[] | undefined,
  generation: number,
): OpenRecipients {
  const known = findStates(earlier);
  const isReplay = known !== undefined && known.generation !== generation;
  if (known === undefined || (isReplay && known.deferred.length === 0)) {
    return { open: all, before: { generation, accepted: [], refused: [], deferred: [] } };
  }
  const refused = isReplay ? [] : known.refused;
  const settled = new Set([...known.accepted, ...refused.map(({ address }) => address)]);
  const before = { generation, accepted: known.accepted, refused, deferred: known.deferred };
  return { open: all.filter((address) => !settled.has(address)), before };
}

/** The states after an attempt to `open`. Without faults, the server accepted the message for all of them. */
export function statesAfter(
  { open, before }: OpenRecipients,
  isTaken: boolean,
  faults: readonly RecipientFault[],
): RecipientStates {
  const isFaulty = (address: string) => faults.some((fault) => fault.address === address);
  const statedOf = (isDeferred: boolean): StatedFault[] =>
    faults.filter((fault) => fault.isDeferred === isDeferred).map(({ address, answer }) => ({ address, answer }));
  const answered = isTaken ? open.filter((address) => !isFaulty(address)) : [];
  return {
    generation: before.generation,
    accepted: [...before.accepted, ...answered],
    refused: [...before.refused, ...statedOf(false)],
    // When the message failed before the server was asked for any recipient, the deferred ones stay as they were.
    deferred: isTaken || faults.length > 0 ? statedOf(true) : before.deferred,
  };
}

function findStates(earlier: readonly KindRecord[] | undefined): RecipientStates | undefined {
  return earlier?.map(readStates).findLast((states) => states !== undefined);
}

/** Nothing is known about an interrupted attempt. */
function readStates({ facts }: KindRecord): RecipientStates | undefined {
  if (facts === undefined) return undefined;
  const kept = JSON.parse(facts) as Partial<RecipientStates>;
  return kept.accepted === undefined ? undefined : (kept as RecipientStates);
}

/** The server's answer for one recipient. */
export interface RecipientFault {
  address: string;
  /** 4xx: the server may accept it later. */
  isDeferred: boolean;
  answer: string;
}

/** The outcome of an attempt, and the states of all recipients after it. */
export function conclude(result: SmtpResult, recipients: OpenRecipients) {
  const isTaken = "answered" in result;
  const faults = (isTaken ? result.answered.rejected : (result.error.rejectedErrors ?? [])).map(toFault);
  const outcome = isTaken ? outcomeOfAnswer(faults) : outcomeOfError(result.error, faults);
  const states = statesAfter(recipients, isTaken, faults);
  // Other recipients had it before: no further recipient can be reached, so the delivery counts as delivered.
  const isLastRejection = outcome.kind === "refused" && states.accepted.length > 0;
  return { outcome: isLastRejection ? deliveredWith(`${outcome.error}; the others have it`) : outcome, states };
}

/** The server accepted the message for at least one recipient. */
function outcomeOfAnswer(faults: readonly RecipientFault[]): Outcome {
  const named = faults.map(({ address, answer }) => `${address} (${answer})`).join(", ");
  if (faults.some(({ isDeferred }) => isDeferred)) {
    return failed(`not accepted yet for ${named}; the others have it`, { says: "well" });
  }
  return faults.length === 0 ? DELIVERED : deliveredWith(`refused for ${named}; the others have it`);
}

/** The server accepted the message for no recipient. */
function outcomeOfError(error: SmtpError, faults: readonly RecipientFault[]): Outcome {
  const { code, responseCode, command } = error;
  const said = answerOf(error);
  if (code === "EAUTH") return failed(`the SMTP server refuses the login: ${said}`);
  if (code === "ETLS") return failed(`no TLS with the SMTP server: ${said}`, CONNECTION);
  if (code === "EMESSAGE" && responseCode === undefined)
    return tooLarge(`the SMTP server does not accept such a message: ${said}`);
  if (code !== "EENVELOPE" && code !== "EMESSAGE")
    return failed(`no connection to the SMTP server: ${said}`, CONNECTION);
  const what = describe(command, faults);
  const isPermanent = responseCode !== undefined && responseCode >= 500;
  const isAboutMailboxes = faults.length > 0;
  if (isPermanent && faults.every(({ isDeferred }) => !isDeferred)) return refused(`${what}: ${said}`);
  return failed(`${what} for now: ${said}`, { says: isAboutMailboxes ? "well" : signOf(responseCode) });
}

const CONNECTION = { result: "connection_error" } as const;

function describe(command: string | undefined, faults: readonly RecipientFault[]): string {
  if (command === "MAIL FROM") return "the SMTP server refuses the sender";
  if (faults.length > 1) return "the SMTP server refuses all recipients";
  if (faults.length === 1) return `the SMTP server refuses ${faults[0]?.address}`;
  return "the SMTP server refuses the message";
}

/** 421 and 454 concern the server; other answers may concern the message. */
function signOf(responseCode: number | undefined): HealthSign {
  return responseCode === undefined || responseCode === 421 || responseCode === 454 ? "ill" : "doubtful";
}

function toFault(error: SmtpError): RecipientFault {
  const { recipient = "", responseCode = 0 } = error;
  return { address: recipient, isDeferred: responseCode < 500, answer: answerOf(error) };
}

const MAX_ANSWER = 300;

function answerOf({ response, message }: SmtpError): string {
  const text = (response ?? message).replaceAll(/\s+/g, " ").trim();
  return text.length > MAX_ANSWER ? `${text.slice(0, MAX_ANSWER)}…` : text;
}
