import type { EventContent } from "../model/event.ts";

/** Reads the payload of an event as an object; returns a text when it cannot be read. */
export function readPayload({ body }: EventContent): Readonly<Record<string, unknown>> | string {
  try {
    const value: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below, like any other body that is not an object.
  }
  return "the payload is not a JSON object";
}

/** One text field of the payload. */
export function textIn(payload: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
  return typeof value === "string" && value !== "" ? value : undefined;
}
