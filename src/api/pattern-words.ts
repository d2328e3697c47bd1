import { EVENT_ID_PATTERN, EVENT_TYPE_PATTERN } from "../model/event.ts";
import { EVENT_VERSION_PATTERN } from "../model/event-type.ts";
import { SOURCE_NAME_PATTERN, SOURCE_NAME_WORDS } from "../model/source.ts";
import { TENANT_ID_PATTERN } from "../model/tenant.ts";

const TENANT = 'must be 1 to 64 lower-case letters, digits, "-" and "_", and begin with a letter or a digit';

/** What a pattern asks for, in words: few people read regular expressions. */
const WORDS: ReadonlyMap<string, string> = new Map([
  [SOURCE_NAME_PATTERN, `must be ${SOURCE_NAME_WORDS}`],
  [TENANT_ID_PATTERN, TENANT],
  [EVENT_ID_PATTERN, 'must be 1 to 128 letters, digits, "-", "_" and ":"'],
  [EVENT_TYPE_PATTERN, 'must be words of letters, digits, "-" and "_", separated by dots'],
  [EVENT_VERSION_PATTERN, 'must be 1 to 32 letters, digits, ".", "-" and "_"'],
  ["^[^\\u0000]*$", "must not contain the character U+0000"],
]);

export function describePattern(pattern: string): string | undefined {
  return WORDS.get(pattern);
}
