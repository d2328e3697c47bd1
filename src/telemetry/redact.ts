/** Keeps secrets out of the log, by the name of the field and by the form of the text. */

const MASK = "***";

const SECRET_NAMES: ReadonlySet<string> = new Set([
  "authorization",
  "proxy_authorization",
  "x_api_key",
  "api_key",
  "apikey",
  "key_secret",
  "cookie",
  "set_cookie",
  "secret",
  "secrets",
  "token",
  "access_token",
  "refresh_token",
  "password",
  "passphrase",
  "admin_key",
  "master_key",
  "private_key",
  "client_secret",
  "auth",
  "credentials",
]);

/** Values nested more deeply than this are left out. */
const MAX_DEPTH = 6;

const SECRET_TEXT = /whs(?:ec|k)_[A-Za-z0-9+/=_-]+|\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}|(?<=:\/\/)[^/?#@\s"]+@/gi;

function isSecretName(name: string): boolean {
  const snakeCase = name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll("-", "_")
    .toLowerCase();
  return SECRET_NAMES.has(snakeCase);
}

/** Returns a copy without secrets; values of other classes (errors, dates) are left to the serializers. */
export function redactFields(fields: object, depth = 0): Record<string, unknown> {
  const redacted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    redacted[name] = isSecretName(name) && value !== undefined && value !== null ? MASK : redactValue(value, depth + 1);
  }
  return redacted;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  const isPlain =
    Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
  if (!isPlain) return value;
  if (depth >= MAX_DEPTH) return "…";
  return Array.isArray(value) ? value.map((item) => redactValue(item, depth + 1)) : redactFields(value, depth);
}

/** The last safety net, for secrets inside other text such as an error's message. */
export function redactText(text: string): string {
  return text.replace(SECRET_TEXT, (found: string, scheme?: string) => {
    if (scheme !== undefined) return `${scheme} ${MASK}`;
    return found.endsWith("@") ? `${MASK}@` : `${found.slice(0, found.indexOf("_") + 1)}${MASK}`;
  });
}
