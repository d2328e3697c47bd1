import { ERRORS, type ErrorCode } from "../../../../src/model/errors.ts";
import type { ReceivedRequest } from "../../api/types.ts";

/** What to do about it. Codes of errors have their title in the gateway's own table. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  bad_signature:
    "Compare the secret here with the one that the sender has. If it has changed, add the new one with “Rotate secret” on the page of the source.",
  unknown_webhook:
    "Register the sheet's webhook on the page of the source, or remove the other webhook at the provider.",
  address_not_allowed: "If the sender is genuine, add its address to `allowed_ips` of the source.",
  unreadable_body: "The sender must send well-formed JSON or XML. A replay of the same bytes fails again.",
  unsupported_content_type: "Add the content type to `content_types` of the source.",
  unsupported_encoding: "Ask the sender to send the body without a Content-Encoding.",
  method_not_allowed: "Add the method to `methods` of the source, or ask the sender for another.",
  too_large: "Raise `max_bytes` of the source.",
  schema_mismatch: "Correct the sender, or the schema of the event type.",
  validation_failed: "Correct the sender, or the validation of this endpoint.",
  validation_not_found: "Create a validation for this endpoint.",
  invalid_validation: "Correct the validation of this endpoint.",
  gone: "The source is closed. Resume it if its webhooks are wanted again.",
  unknown_source: "Create the source, or correct the URL at the sender.",
  too_many_requests: "The sender was too fast and is expected to retry.",
  loop: "The event has passed through more than 8 gateways. Look for a subscription that sends to one of your own sources.",
  request_timeout: "The sender stopped in the middle. It is expected to retry.",
};

/** Causes of ignored requests, which are no errors. */
const IGNORED: Readonly<Record<string, Explanation>> = {
  duplicate: {
    title: "The same event was already accepted",
    advice: "Nothing to do: senders repeat a webhook when they do not see the answer.",
  },
  replayed: {
    title: "The same signature was already accepted",
    advice: "Nothing to do, unless two different webhooks may have the same bytes: then set `refuse_replays` to false.",
  },
  filtered: {
    title: "The event type is not among those that the source lets through",
    advice: "If it is wanted, add its type to `only` of the source.",
  },
  invalid: {
    title: "The event does not match the schema of its type",
    advice: "It was kept and delivered to nobody. Correct the schema.",
  },
  handshake: {
    title: "The provider only asked whether this is the right place",
    advice: "Nothing to do: the gateway answered it.",
  },
  own_change: { title: "The change was made by this gateway's own account", advice: "Nothing to do." },
  empty: { title: "The request contained no event", advice: "Nothing to do." },
  failed: { title: "A part of the request could not be stored", advice: "The sender is expected to retry." },
};

/** After which of these the same bytes are still not wanted. */
const FINAL: ReadonlySet<string> = new Set([
  "duplicate",
  "replayed",
  "handshake",
  "own_change",
  "empty",
  "unreadable_body",
  "loop",
]);

/** Whether the stored bytes may be accepted once the cause is mended. */
export function canHelpToReplay(cause: string | null): boolean {
  return cause === null || !FINAL.has(cause);
}

/** What to do with the request itself, once the cause is mended. */
export function nextStep(cause: string | null, isKept: boolean): string {
  if (cause === null || !canHelpToReplay(cause)) return "";
  return isKept ? "Then replay this request." : "Then ask the sender to send it again: its body was not kept.";
}

export interface Explanation {
  title: string;
  advice: string;
}

export function explain({ outcome, cause }: Pick<ReceivedRequest, "outcome" | "cause">): Explanation | undefined {
  if (cause === null) return undefined;
  const known = outcome === "ignored" ? IGNORED[cause] : undefined;
  if (known !== undefined) return known;
  const code = cause as ErrorCode;
  return {
    title: ERRORS[code]?.title ?? cause.replaceAll("_", " "),
    advice: ADVICE[code] ?? "Look at the headers and the body below, and at the settings of the source.",
  };
}

/** For the filter; a cause that is not among them can be put into the address. */
export const CAUSE_LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  [...Object.keys(ADVICE), ...Object.keys(IGNORED)].sort().map((cause) => [cause, cause.replaceAll("_", " ")]),
);
