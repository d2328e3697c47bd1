import { parseUrl } from "./parse-url.ts";

/** One e-mail address, perhaps with a name for people before it: `Shop <orders@example.com>`. */
export interface MailAddress {
  /** Empty when there is none. */
  readonly name: string;
  /** In ASCII, as SMTP takes it. */
  readonly address: string;
}

/** RFC 5321 §4.5.3.1: of the local part, and of the whole path without its brackets. */
const MAX_LOCAL_LENGTH = 64;
const MAX_ADDRESS_LENGTH = 254;
const MAX_NAME_LENGTH = 200;

/** RFC 5322 §3.2.3, dot-atom. Quoted local parts are legal, and are used for injections more often than for mail. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
/** What would be another part of a URL. */
const NOT_IN_A_DOMAIN = /[\s/?#:@\\%<>[\](),;"]/;
/** Otherwise it is an address of a network, or nothing. */
const HAS_LETTER_LAST = /[A-Za-z][A-Za-z0-9-]*$/;
const NAMED = /^(.*)<([^<>]*)>$/s;
/** What ends a header line, or is shown as something else than it is (bidirectional marks). */
const NOT_IN_A_LINE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** A text says what is wrong with it. */
export function parseMailAddress(text: string): MailAddress | string {
  const shown = JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
  if (hasLineFault(text)) return `${shown} has a line break or another control character in it`;
  const named = NAMED.exec(text.trim());
  const name = unquote((named?.[1] ?? "").trim());
  const plain = (named?.[2] ?? text).trim();
  const at = plain.lastIndexOf("@");
  const local = plain.slice(0, Math.max(0, at));
  const domain = toAscii(plain.slice(at + 1));
  const address = `${local}@${domain}`;
  if (at < 1 || !LOCAL_PART.test(local) || !DOMAIN.test(domain) || name.length > MAX_NAME_LENGTH) {
    return `${shown} is not an e-mail address; write one as name@example.com or Name <name@example.com>`;
  }
  if (local.length > MAX_LOCAL_LENGTH || address.length > MAX_ADDRESS_LENGTH) {
    return `${shown} is longer than an e-mail address may be`;
  }
  return { name, address };
}

/** Names of other alphabets have one of ASCII letters; empty when it is no name. */
function toAscii(domain: string): string {
  if (NOT_IN_A_DOMAIN.test(domain)) return "";
  const { hostname = "" } = parseUrl(`http://${domain}/`) ?? {};
  return HAS_LETTER_LAST.test(hostname) ? hostname : "";
}

/** Whether a text may not stand in a header, whatever it is meant for. */
export function hasLineFault(text: string): boolean {
  return NOT_IN_A_LINE.test(text);
}

function unquote(name: string): string {
  return /^".*"$/s.test(name) ? name.slice(1, -1).replaceAll(/\\(.)/g, "$1") : name;
}
