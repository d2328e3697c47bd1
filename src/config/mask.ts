import { createHash } from "node:crypto";

/** How values are shown to people: without secrets, and without values that may contain one. */

/** Headers and auth of a subscription hold the destination's credentials; options of a source may hold the sender's. */
const SECRET_PATH = /(^|\.)(secrets?|headers|auth|path_token|options)(\.|\[|$)/;

export function isSecretPath(path: string): boolean {
  return SECRET_PATH.test(path);
}

export function maskSecret(value: string): string {
  return `set (sha256:${createHash("sha256").update(value).digest("hex").slice(0, 8)}…)`;
}

/** Removes credentials from a URL: user and password, and the values in its query. */
export function maskUrl(text: string): string {
  return text.replace(/\/\/[^/?#\s]*@/g, "//***@").replace(/(\?|&)([^=&#\s]+)=[^&#\s]*/g, "$1$2=***");
}

const MAX_SHOWN = 80;

export function describeValue(value: unknown): string {
  const text = typeof value === "string" ? JSON.stringify(maskUrl(value)) : String(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
