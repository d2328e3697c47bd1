import { findKeyProblem, BLANK_END, BLANK_END_PROBLEM, encodeNew, type SecretForm } from "../model/secrets.ts";
import { badSignature, findBase64, getHeader, isOneOf } from "./signatures.ts";
import type { PushedSourceKind } from "./source-kind.ts";

const USER_AND_PASSWORD: SecretForm = {
  findProblem(secret) {
    const colonAt = secret.indexOf(":");
    if (colonAt < 1) return "is not user:password";
    const password = secret.slice(colonAt + 1);
    if (BLANK_END.test(password)) return BLANK_END_PROBLEM;
    const problem = findKeyProblem(Buffer.from(password, "utf8"));
    return problem === undefined ? undefined : `has a password that ${problem}`;
  },
  create(random, current = "posthorn:") {
    return `${current.slice(0, current.indexOf(":"))}:${encodeNew(random, "hex")}`;
  },
};

/** HTTP Basic. A secret is `user:password`. Everything else is the same as for a generic source. */
export const basic: PushedSourceKind = {
  name: "basic",
  needsSecret: true,
  queuedStatus: 202,
  secretForm: () => USER_AND_PASSWORD,
  verify(request, { secrets }) {
    const [, encoded = ""] = /^basic (\S+)$/i.exec(getHeader(request, "authorization")) ?? [];
    const given = findBase64(encoded)?.toString("utf8") ?? "";
    if (!isOneOf(given, secrets)) throw badSignature("The user and the password are not those of this source.");
  },
};
