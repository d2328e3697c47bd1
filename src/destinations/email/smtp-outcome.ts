import {
  DELIVERED,
  deliveredWith,
  failed,
  refused,
  tooLarge,
  type HealthSign,
  type Outcome,
} from "../../model/outcome.ts";
import type { Answered, SmtpError } from "./smtp-link.ts";

/** The server's answer for one recipient. */
export interface RecipientFault {
  address: string;
  /** 4xx: the server may accept it later. */
  isDeferred: boolean;
  answer: string;
}

/** The result of a message that the server accepted for at least one recipient. */
export function judgeAnswer({ rejected }: Answered): { outcome: Outcome; faults: readonly RecipientFault[] } {
  const faults = rejected.map(toFault);
  const deferred = faults.filter(({ isDeferred }) => isDeferred);
  const named = faults.map(({ address, answer }) => `${address} (${answer})`).join(", ");
  if (deferred.length > 0) {
    return { outcome: failed(`not accepted yet for ${named}; the others have it`, { says: "well" }), faults };
  }
  return {
    outcome: faults.length === 0 ? DELIVERED : deliveredWith(`refused for ${named}; the others have it`),
    faults,
  };
}

/** The result of a message that the server accepted for no recipient. */
export function judgeError(error: SmtpError): { outcome: Outcome; faults: readonly RecipientFault[] } {
  const faults = (error.rejectedErrors ?? []).map(toFault);
  return { outcome: outcomeOf(error, faults), faults };
}

function outcomeOf(error: SmtpError, faults: readonly RecipientFault[]): Outcome {
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
