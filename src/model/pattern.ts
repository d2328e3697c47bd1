import { EVENT_TYPE_MAX_LENGTH } from "./event.ts";
import { invalidField } from "./errors.ts";

/** Topic patterns: `*` is one word, `#` any number of words, none included; a lone `*` means everything. */
export interface Pattern {
  readonly text: string;
  readonly words: readonly string[];
  /** A pattern without a wildcard is compared as a whole. */
  readonly isLiteral: boolean;
}

/** The type of events that people send to test a destination. */
export const TEST_EVENT_TYPE = "test.event";

/** The gateway's own events. A wildcard for all events does not match them. */
export const GATEWAY_EVENT_TYPES = [
  "webhook.suspended",
  "webhook.resumed",
  "webhook.failing",
  "webhook.secret_rotating",
  "webhook.delivery_dead",
  "gateway.mode_changed",
  "source.disabled",
  "alert.fired",
  "alert.cleared",
  TEST_EVENT_TYPE,
] as const;

const gatewayEventTypes: ReadonlySet<string> = new Set(GATEWAY_EVENT_TYPES);
const WORD = /^[A-Za-z0-9_-]+$/;

/** Only these exact names: received webhooks have the type `webhook.{source}` by default. */
export function isGatewayEventType(type: string): boolean {
  return gatewayEventTypes.has(type);
}

export function parsePattern(text: string): Pattern {
  if (text.length > EVENT_TYPE_MAX_LENGTH) {
    throw invalidField(
      "events",
      `A pattern can have at most ${EVENT_TYPE_MAX_LENGTH} characters; this one has ${text.length}.`,
    );
  }
  if (text === "*") return { text, words: ["#"], isLiteral: false };
  const words: string[] = [];
  for (const word of text.split(".")) {
    if (word !== "*" && word !== "#" && !WORD.test(word)) {
      throw invalidField(
        "events",
        `${JSON.stringify(text)} is not a pattern: ${JSON.stringify(word)} is not a word. ` +
          "Use words of letters, digits, _ and -, or * for one word, or # for any number, with dots between them.",
      );
    }
    if (word !== "#" || words.at(-1) !== "#") words.push(word);
  }
  return { text, words, isLiteral: !words.some(isWildcard) };
}

export function matchesPattern(pattern: Pattern, eventType: string): boolean {
  if (pattern.isLiteral) return pattern.text === eventType;
  if (isGatewayEventType(eventType) && isWildcard(pattern.words[0])) return false;
  return matchesWords(pattern.words, eventType.split("."));
}

/** Only the latest `#` is ever widened: if it cannot match, no earlier one can. So there are at most n × m steps. */
function matchesWords(pattern: readonly string[], words: readonly string[]): boolean {
  let at = 0;
  let hashAt = -1;
  let resumeAt = 0;
  let wordAt = 0;
  while (wordAt < words.length) {
    const expected = pattern[at];
    if (expected === "#") {
      hashAt = at++;
      resumeAt = wordAt;
    } else if (expected === "*" || expected === words[wordAt]) {
      at++;
      wordAt++;
    } else if (hashAt >= 0) {
      at = hashAt + 1;
      wordAt = ++resumeAt;
    } else {
      return false;
    }
  }
  while (pattern[at] === "#") at++;
  return at === pattern.length;
}

/** Whether some event type matches both patterns. */
export function doPatternsOverlap(one: Pattern, other: Pattern): boolean {
  if (one.isLiteral) return matchesPattern(other, one.text);
  if (other.isLiteral) return matchesPattern(one, other.text);
  // `fits[b]`: whether the rest of `one` overlaps with the rest of `other` from word `b` on.
  const [a, b] = [one.words, other.words];
  let fits = Array.from({ length: b.length + 1 }, (_, at) => b.slice(at).every((word) => word === "#"));
  for (let atA = a.length - 1; atA >= 0; atA--) {
    const next = fits;
    fits = b.map(() => false);
    for (let atB = b.length; atB >= 0; atB--) {
      const [wordA, wordB] = [a[atA], b[atB]];
      const takesNone = wordA === "#" && next[atB] === true;
      const skipsB = (wordA === "#" || wordB === "#") && wordB !== undefined && fits[atB + 1] === true;
      const skipsA = wordB === "#" && next[atB] === true;
      const isSame = wordA === wordB || wordA === "*" || wordB === "*";
      const takesBoth = wordA !== "#" && wordB !== "#" && wordB !== undefined && isSame && next[atB + 1] === true;
      fits[atB] = takesNone || skipsB || skipsA || takesBoth;
    }
  }
  return fits[0] === true;
}

function isWildcard(word: string | undefined): boolean {
  return word === "*" || word === "#";
}
