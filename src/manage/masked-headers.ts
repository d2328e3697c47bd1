import { isCredentialHeader } from "../domain/credential-header.ts";
import { MASK } from "../domain/destination-auth.ts";

type Headers = Record<string, string>;

/** Somebody sends back what he was shown: a masked value stands for the one that is stored. */
export function restoreMasked<Input extends { headers?: Headers }>(input: Input, stored: Headers | undefined): Input {
  const { headers } = input;
  if (headers === undefined || !Object.entries(headers).some(isMasked)) return input;
  const known = new Map(Object.entries(stored ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const restored = Object.entries(headers).map((header): [string, string] => {
    const [name, value] = header;
    return [name, isMasked(header) ? (known.get(name.toLowerCase()) ?? value) : value];
  });
  return { ...input, headers: Object.fromEntries(restored) };
}

function isMasked([name, value]: [string, string]): boolean {
  return value === MASK && isCredentialHeader(name);
}
