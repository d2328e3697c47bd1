import { isIP } from "node:net";
import { parseUrl } from "./parse-url.ts";

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
    : mode === "required" || (mode === "auto" && !isLoopback(host))
      ? "upgrade"
      : "none";
  if (tls === "none" && login !== undefined && !isLoopback(host)) {
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

function isLoopback(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return isIP(host) === 4 ? host.startsWith("127.") : host === "::1";
}

/** The server as shown and recorded, without its credentials. */
export function describeServer({ host, port, tls }: SmtpServer): string {
  return `${tls === "immediate" ? "smtps" : "smtp"}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
