/**
 * The URL of a forwarded request: below the path of its destination, with the rest of the path and the query unchanged.
 * Anybody who can send to a public source chooses these, so they must not lead out of the destination's path.
 */
export interface ForwardBase {
  /** As in a `URL`. */
  pathname: string;
  search: string;
}

const WEBHOOK = "/webhook/";
const DOT_SEGMENT = /^\.{1,2}$/;
/** A `..` step for servers that decode the path first, or that cut off everything after a semicolon. */
const HIDDEN_STEP = /(?:^|[/\\])\.{1,2}(?:;[^/\\]*)?(?:$|[/\\])/;
const MAX_DECODES = 5;
const UNSAFE_IN_PATH = /[^\x21-\x7e]|[\\#?]/g;
const UNSAFE_IN_QUERY = /[^\x21-\x7e]|#/g;

/** Returns path and query for the request line. `path` begins with `/webhook/{source}`. */
export function buildForwardedPath(base: ForwardBase, path: string, query: string): string {
  const rest = toSafeRest(restOf(path));
  const stem = rest !== "" && base.pathname.endsWith("/") ? base.pathname.slice(0, -1) : base.pathname;
  // Some servers would read `//host` at the beginning as a host.
  const whole = stem === "" ? rest.replace(/^\/+/, "/") : stem + rest;
  return whole + joinQueries(base.search, query.replace(UNSAFE_IN_QUERY, encodeBytes));
}

function restOf(path: string): string {
  const end = path.indexOf("/", WEBHOOK.length);
  return end < 0 ? "" : path.slice(end);
}

/** Resolves `.` and `..` here, never above the place where the rest begins. */
function toSafeRest(rest: string): string {
  if (rest === "") return "";
  const kept: string[] = [];
  const segments = rest.slice(1).split("/");
  segments.forEach((segment, i) => {
    const plain = segment.replace(/%2e/gi, ".");
    if (!DOT_SEGMENT.test(plain)) return void kept.push(toSafeSegment(segment));
    if (plain === "..") kept.pop();
    // As in a URL: a path that ends with a step is a folder.
    if (i === segments.length - 1) kept.push("");
  });
  return `/${kept.join("/")}`;
}

function toSafeSegment(segment: string): string {
  const encoded = segment.replace(UNSAFE_IN_PATH, encodeBytes);
  if (!HIDDEN_STEP.test(decodeFully(encoded))) return encoded;
  return encoded.replaceAll("%", "%25").replaceAll(";", "%3B");
}

function decodeFully(segment: string): string {
  let text = segment;
  for (let i = 0; i < MAX_DECODES && text.includes("%"); i++) {
    text = text.replace(/%(2e|2f|5c|3b|25)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
  return text;
}

/**
 * A request line is read as Latin-1, so characters beyond that cannot come from one; they become the replacement
 * character.
 */
function encodeBytes(character: string): string {
  const code = character.charCodeAt(0);
  if (code > 0xff) return "%EF%BF%BD";
  return `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

function joinQueries(first: string, second: string): string {
  if (second === "") return first;
  return first === "" ? `?${second}` : `${first}&${second}`;
}
