// Shared access signatures, as clients prove that they know the key.
import { createHmac } from "node:crypto";

export const KEY_NAME = "RootManageSharedAccessKey";
/** Of a policy that may send and listen, and manage nothing. */
export const LIMITED_KEY_NAME = "SendAndListen";

/** Which policy somebody has proved to know the key of; all have the same. */
export function findPolicy(token: string, key: string): string | undefined {
  const fields = new Map(
    token
      .replace(/^SharedAccessSignature /, "")
      .split("&")
      .map((field) => [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)]),
  );
  const [resource, signature, expiry, name] = ["sr", "sig", "se", "skn"].map((field) => fields.get(field));
  if (resource === undefined || signature === undefined || name === undefined) return undefined;
  if (name !== KEY_NAME && name !== LIMITED_KEY_NAME) return undefined;
  const expected = createHmac("sha256", key).update(`${resource}\n${expiry}`).digest("base64");
  return decodeURIComponent(signature) === expected ? name : undefined;
}
