import { badSignature, findBase64, getHeader } from "./signatures.ts";
import { isSameSecret } from "../same-secret.ts";
import type { SourceKind } from "./source-kind.ts";

/** HTTP Basic. A secret is `user:password`. Everything else is as with a generic source. */
export const basic: SourceKind = {
  name: "basic",
  needsSecret: true,
  verify(request, { secrets }) {
    const [, encoded = ""] = /^basic (\S+)$/i.exec(getHeader(request, "authorization")) ?? [];
    const given = findBase64(encoded)?.toString("utf8") ?? "";
    let isKnown = false;
    for (const secret of secrets) if (isSameSecret(given, secret)) isKnown = true;
    if (!isKnown) throw badSignature("The user and the password are not those of this source.");
  },
};
