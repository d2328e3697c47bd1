import { createHash } from "node:crypto";
import { EVENT_TYPE_MAX_LENGTH } from "../model/event.ts";
import { PosthornError } from "../model/errors.ts";
import { findRfc3339 } from "../model/rfc3339.ts";
import type { WellFormed } from "../sandbox/text/well-formed.ts";
import { remember } from "./remember.ts";
import type { Reading } from "./source-kind.ts";

/** Turns providers' names and ids into event types and ids. */

const MAX_IDENTITY_LENGTH = 255;
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;
const PARTED_BY = "\n";
const typeOf = remember(toEventType);

/**
 * `github` and `pull_request`, `opened` become `github.pull_request.opened`. Other separators of a provider become
 * dots, or `_` inside a word; a capital inside a word begins a new word. The kind comes first, so that no
 * provider can name an event of the gateway itself.
 */
export function eventTypeOf(kind: string, ...names: readonly (string | undefined)[]): string {
  let text = kind;
  for (const name of names) if (name !== undefined) text += PARTED_BY + name.slice(0, EVENT_TYPE_MAX_LENGTH);
  return typeOf(text);
}

function toEventType(text: string): string {
  const [kind = "", ...names] = text.split(PARTED_BY);
  const words = names.flatMap(wordsOf);
  let type = kind;
  for (const word of words.length === 0 ? ["unknown"] : words) {
    if (type.length + 1 + word.length > EVENT_TYPE_MAX_LENGTH) break;
    type += `.${word}`;
  }
  return type;
}

function wordsOf(name: string): readonly string[] {
  return name
    .split(/[./:]+/)
    .map((word) =>
      word
        .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
        .toLowerCase()
        .replace(/[^a-z0-9_-]+/g, "_")
        .replace(/^_+|_+$/g, ""),
    )
    .filter((word) => word !== "");
}

/** Joins several texts; undefined if one is missing. A long or unprintable result is hashed. */
export function identityOf(...parts: readonly (string | undefined)[]): string | undefined {
  if (parts.some((part) => part === undefined || part === "")) return undefined;
  const text = parts.join(":");
  return text.length > MAX_IDENTITY_LENGTH || UNPRINTABLE.test(text) ? hashOf(text) : text;
}

export function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("base64url");
}

/** A request with one event, which has the request's body. */
export function oneEvent(type: string, identity: string | undefined, occurredAt?: number): Reading {
  return { events: [{ type, identity, occurredAt }] };
}

/** Reads a provider's time: Unix seconds, with or without a fraction, or RFC 3339. */
export function findTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,11}(\.\d{1,9})?$/.test(text)) return Math.floor(Number(text) * 1000);
  return findRfc3339(text);
}

/** The same in milliseconds. */
export function findTimeInMs(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,14}$/.test(text) ? Number(text) : undefined;
}

/** For kinds that must read the body as JSON. */
export function requireJson(form: WellFormed, provider: string): void {
  if (form.kind !== "json") {
    throw new PosthornError(
      "unreadable_body",
      `The body is not JSON, but ${provider} sends JSON. Check who sends this request.`,
    );
  }
}
