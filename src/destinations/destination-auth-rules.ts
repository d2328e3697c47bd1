import { createPrivateKey, X509Certificate } from "node:crypto";
import { type DestinationAuthInput, findMaskedField } from "./destination-auth.ts";
import type { FieldProblem } from "../model/subscription-rules.ts";

/** Rules for destination auth that a JSON Schema cannot express. No message repeats a given value: it may be secret. */

type Field = Exclude<keyof DestinationAuthInput, "type">;

/** Which fields belong to which type. */
export const AUTH_FIELDS: Readonly<
  Record<DestinationAuthInput["type"], { required: readonly Field[]; optional: readonly Field[] }>
> = {
  basic: { required: ["username", "password"], optional: ["ca"] },
  bearer: { required: ["token"], optional: ["ca"] },
  oauth2: {
    required: ["token_url", "client_id", "client_secret"],
    optional: ["scope", "audience", "client_auth", "ca"],
  },
  mtls: { required: ["cert", "key"], optional: ["ca"] },
  ca: { required: ["ca"], optional: [] },
};

const CONTROL = /[\p{Cc}\p{Cs}]/u;
/** RFC 6750 §2.1 (`b64token`), and a little more: anything that a header can contain, without spaces. */
const BEARER_TOKEN = /^[\x21-\x7e]+$/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const MAX_CERTIFICATES = 50;

export function checkDestinationAuth(
  auth: DestinationAuthInput | null | undefined,
  headers: Readonly<Record<string, string>> = {},
): FieldProblem[] {
  if (auth === undefined || auth === null) return [];
  const problems = [...checkFields(auth), ...checkTexts(auth)];
  if (problems.length > 0) return problems;
  return [...checkCertificates(auth), ...checkHeaders(auth, headers)];
}

function checkFields(auth: DestinationAuthInput): FieldProblem[] {
  const { required, optional } = AUTH_FIELDS[auth.type];
  const problems: FieldProblem[] = [];
  for (const field of required) {
    if ((auth[field] ?? "") === "") {
      problems.push({ field: `auth.${field}`, message: `is missing; auth of the type ${auth.type} needs it` });
    }
  }
  for (const field of Object.keys(auth) as (keyof DestinationAuthInput)[]) {
    if (field === "type" || required.includes(field) || optional.includes(field)) continue;
    problems.push({ field: `auth.${field}`, message: `does not belong to auth of the type ${auth.type}` });
  }
  const masked = findMaskedField(auth);
  if (masked !== undefined) {
    problems.push({ field: `auth.${masked}`, message: "is a masked value, not the secret; give the secret itself" });
  }
  return problems;
}

function checkTexts(auth: DestinationAuthInput): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const field of ["username", "password", "client_id", "client_secret", "scope", "audience"] as const) {
    if (CONTROL.test(auth[field] ?? "")) {
      problems.push({ field: `auth.${field}`, message: "must not contain control characters" });
    }
  }
  if (auth.username?.includes(":") === true) {
    problems.push({
      field: "auth.username",
      message: "must not contain a colon, because the password begins after it",
    });
  }
  if (auth.type === "bearer" && !BEARER_TOKEN.test(auth.token ?? "")) {
    problems.push({ field: "auth.token", message: "must be printable ASCII without spaces" });
  }
  return problems;
}

function checkCertificates(auth: DestinationAuthInput): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (auth.ca !== undefined) {
    const message = findPemProblem(auth.ca);
    if (message !== undefined) problems.push({ field: "auth.ca", message });
  }
  if (auth.type !== "mtls") return problems;
  const certProblem = findPemProblem(auth.cert ?? "");
  if (certProblem !== undefined) return [...problems, { field: "auth.cert", message: certProblem }];
  const message = findKeyProblem(auth.cert ?? "", auth.key ?? "");
  return message === undefined ? problems : [...problems, { field: "auth.key", message }];
}

function findPemProblem(pem: string): string | undefined {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return "holds no certificate; give PEM text (-----BEGIN CERTIFICATE-----…)";
  if (blocks.length > MAX_CERTIFICATES) return `holds more than ${MAX_CERTIFICATES} certificates`;
  if (/PRIVATE KEY/.test(pem)) return "holds a private key, which does not belong here";
  const broken = blocks.findIndex((block) => !canRead(() => new X509Certificate(block)));
  return broken < 0 ? undefined : `holds a certificate that cannot be read (number ${broken + 1})`;
}

function findKeyProblem(cert: string, key: string): string | undefined {
  if (/ENCRYPTED/.test(key)) return "is encrypted; give the private key without a passphrase";
  if (!canRead(() => createPrivateKey(key))) return "cannot be read; give the PEM text of a private key";
  const isPair = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  return isPair ? undefined : "is not the private key of the (first) certificate in auth.cert";
}

function canRead(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

function checkHeaders(auth: DestinationAuthInput, headers: Readonly<Record<string, string>>): FieldProblem[] {
  const setsHeader = auth.type === "basic" || auth.type === "bearer" || auth.type === "oauth2";
  const given = Object.keys(headers).find((name) => name.toLowerCase() === "authorization");
  if (!setsHeader || given === undefined) return [];
  return [{ field: `headers.${given}`, message: `is set by auth of the type ${auth.type}; give one of the two` }];
}
