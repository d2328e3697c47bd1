import type { EventWithDeliveries } from "../api/types.ts";
import { toBinary, type Body } from "../ui/body-card.tsx";

/** What an event carries, as the API shows it: JSON as it came, other text as a string, all else in base64. */
export function readBody(event: EventWithDeliveries, payloadText: string | undefined): Body {
  if (event.payload_base64 !== undefined) return toBinary(event.payload_base64);
  if (payloadText === undefined || (payloadText.trim() === "null" && event.size === 0)) {
    return { kind: "none", text: "", bytes: new Uint8Array() };
  }
  const isJson = event.content_type === null || /[/+]json\b/i.test(event.content_type);
  const isQuoted = payloadText.trimStart().startsWith('"');
  const text =
    isQuoted && !isWrittenAsJson(event, payloadText, isJson) ? (JSON.parse(payloadText) as string) : payloadText;
  const kind = text === payloadText ? "json" : /[/+]xml\b/i.test(event.content_type ?? "") ? "xml" : "text";
  return { kind, text, bytes: new TextEncoder().encode(text) };
}

/** A body that is a JSON string itself has as many bytes as it is written with. */
function isWrittenAsJson(event: EventWithDeliveries, payloadText: string, isJson: boolean): boolean {
  return isJson && new TextEncoder().encode(payloadText).length === event.size;
}
