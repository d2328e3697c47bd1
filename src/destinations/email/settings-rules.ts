import { hasLineFault, parseMailAddress } from "../../model/mail.ts";
import { parseUrl } from "../../model/addresses.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import { isTemplate } from "../is-template.ts";
import { listOf, MAX_RECIPIENTS, type EmailSettings } from "./settings.ts";

/** Rules that the schema cannot express. The result of a template is checked by the same rules when it is rendered. */
export function checkEmailSettings(settings: EmailSettings): FieldProblem[] {
  return [...checkFields(settings), ...checkAddresses(settings), ...checkLines(settings)];
}

const NO_ADDRESS =
  "is missing: give at least one address, or `fields_from: payload` where the event itself contains the mail, as `notification.email` does";

const FROM_PAYLOAD = ["to", "subject", "text", "html"] as const;

function checkFields(settings: EmailSettings): FieldProblem[] {
  const isGiven = (name: keyof EmailSettings) => (settings[name] ?? null) !== null;
  if (settings.fields_from === "payload") {
    const message = "is taken from the payload because of `fields_from`; leave one of the two out";
    return FROM_PAYLOAD.filter(isGiven).map((field) => ({ field, message }));
  }
  const problems: FieldProblem[] = [];
  if (!isGiven("to")) problems.push({ field: "to", message: NO_ADDRESS });
  if (!isGiven("subject")) problems.push({ field: "subject", message: "is missing" });
  if (!isGiven("text") && !isGiven("html")) problems.push({ field: "text", message: "give `text`, `html` or both" });
  return problems;
}

function checkAddresses(settings: EmailSettings): FieldProblem[] {
  const given = (["to", "cc", "bcc", "reply_to"] as const).flatMap((field) =>
    listOf(settings[field]).map((text) => ({ field, text })),
  );
  const problems = given.flatMap(({ field, text }) => {
    const parsed = isTemplate(text) ? undefined : parseMailAddress(text);
    return typeof parsed === "string" ? [{ field, message: parsed }] : [];
  });
  const count = given.filter(({ field }) => field !== "reply_to").length;
  if (count > MAX_RECIPIENTS) {
    problems.push({ field: "to", message: `has ${count} recipients in all; the maximum is ${MAX_RECIPIENTS}` });
  }
  return problems;
}

function checkLines({ subject, list_unsubscribe: unsubscribe }: EmailSettings): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (subject && hasLineFault(subject)) {
    problems.push({ field: "subject", message: "must be one line, without control characters" });
  }
  const problem = unsubscribe && !isTemplate(unsubscribe) ? findUnsubscribeProblem(unsubscribe) : undefined;
  if (problem !== undefined) problems.push({ field: "list_unsubscribe", message: problem });
  return problems;
}

/** RFC 2369: a URL in angle brackets, so it must not contain a closing one. */
export function findUnsubscribeProblem(text: string): string | undefined {
  const url = /[<>\s,]/.test(text) || hasLineFault(text) ? undefined : parseUrl(text);
  const isUsable = url !== undefined && ["https:", "mailto:"].includes(url.protocol);
  return isUsable ? undefined : `${JSON.stringify(text.slice(0, 100))} is not a URL that begins with https: or mailto:`;
}
