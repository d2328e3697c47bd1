// Shared access signatures, as clients prove that they know the key.
import { createHmac } from "node:crypto";

export const KEY_NAME = "RootManageSharedAccessKey";

export function isSigned(token: string, key: string): boolean {
  const fields = new Map(
    token
      .replace(/^SharedAccessSignature /, "")
      .split("&")
      .map((field) => [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)]),
  );
  const [resource, signature, expiry, name] = ["sr", "sig", "se", "skn"].map((field) => fields.get(field));
  if (resource === undefined || signature === undefined || name !== KEY_NAME) return false;
  const expected = createHmac("sha256", key).update(`${resource}\n${expiry}`).digest("base64");
  return decodeURIComponent(signature) === expected;
}
