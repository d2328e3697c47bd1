import { isIP } from "node:net";
import { isLoopbackHost, parseUrl } from "./addresses.ts";

/** One e-mail address, optionally with a display name: `Shop <orders@example.com>`. */
export interface MailAddress {
  /** Empty when there is none. */
  readonly name: string;
  /** In ASCII, as SMTP requires. */
  readonly address: string;
}

/** RFC 5321 §4.5.3.1: limits of the local part, and of the whole path without its brackets. */
const MAX_LOCAL_LENGTH = 64;
const MAX_ADDRESS_LENGTH = 254;
const MAX_NAME_LENGTH = 200;

/** RFC 5322 §3.2.3, dot-atom. Quoted local parts are legal, and are used for injections more often than for mail. */
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
/** Characters that would start another part of a URL. */
const NOT_IN_A_DOMAIN = /[\s/?#:@\\%<>[\](),;"]/;
/** Otherwise the domain is an IP address or invalid. */
const HAS_LETTER_LAST = /[A-Za-z][A-Za-z0-9-]*$/;
const NAMED = /^(.*)<([^<>]*)>$/s;
/** Characters that end a header line, or disguise the text (bidirectional marks). */
const NOT_IN_A_LINE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Returns a string with the problem when the address is invalid. */
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
    return `${shown} is not an e-mail address; write for example name@example.com or Name <name@example.com>`;
  }
  if (local.length > MAX_LOCAL_LENGTH || address.length > MAX_ADDRESS_LENGTH) {
    return `${shown} is longer than an e-mail address may be`;
  }
  return { name, address };
}

/** Converts an internationalised domain name to ASCII; empty when it is not a domain name. */
function toAscii(domain: string): string {
  if (NOT_IN_A_DOMAIN.test(domain)) return "";
  const { hostname = "" } = parseUrl(`http://${domain}/`) ?? {};
  return HAS_LETTER_LAST.test(hostname) ? hostname : "";
}

/** Whether a text contains characters that no header may contain. */
export function hasLineFault(text: string): boolean {
  return NOT_IN_A_LINE.test(text);
}

function unquote(name: string): string {
  return /^".*"$/s.test(name) ? name.slice(1, -1).replaceAll(/\\(.)/g, "$1") : name;
}

/** The SMTP server for all e-mail of the gateway. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `immediate`: TLS from the first byte; `upgrade`: STARTTLS is required; `none`: no encryption. */
  readonly tls: "immediate" | "upgrade" | "none";
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

export const TLS_MODES = ["auto", "required", "none"] as const;
export type TlsMode = (typeof TLS_MODES)[number];

const DEFAULT_PORTS = { "smtp:": 587, "smtps:": 465 } as const;

/** Returns a string with the problem; it never repeats the URL, which may contain a password. */
export function parseSmtpUrl(text: string, mode: TlsMode): SmtpServer | string {
  const url = parseUrl(text);
  const example = "write for example smtps://user:password@mail.example.com:465";
  if (url === undefined || !isScheme(url.protocol) || url.hostname === "") {
    return `is not the URL of an SMTP server; ${example}`;
  }
  if ((url.pathname !== "" && url.pathname !== "/") || url.search !== "" || url.hash !== "") {
    return "must not have a path, a query or a fragment; use the other mail settings instead";
  }
  const login = readLogin(url);
  if (typeof login === "string") return login;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isTlsFirst = url.protocol === "smtps:";
  const tls = isTlsFirst
    ? "immediate"
    : mode === "required" || (mode === "auto" && !isLoopbackHost(host))
      ? "upgrade"
      : "none";
  if (tls === "none" && login !== undefined && !isLoopbackHost(host)) {
    return "has a password, which would be sent without encryption; use smtps://, or do not set `tls` to none";
  }
  return { host, port: url.port === "" ? DEFAULT_PORTS[url.protocol] : Number(url.port), tls, login };
}

function isScheme(protocol: string): protocol is keyof typeof DEFAULT_PORTS {
  return Object.hasOwn(DEFAULT_PORTS, protocol);
}

function readLogin({ username, password }: URL): SmtpServer["login"] | string {
  if (username === "" && password === "") return undefined;
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return "has a user name or password that cannot be used; percent-encode special characters";
  }
}

/** The server as shown and recorded, without its credentials. */
export function describeServer({ host, port, tls }: SmtpServer): string {
  return `${tls === "immediate" ? "smtps" : "smtp"}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
