import { Type, type Static } from "typebox";
import { MASK } from "../model/secrets.ts";
import { orNull, withDefault } from "../model/shape.ts";
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { FieldProblem } from "../model/subscription-rules.ts";
import { findHeaderProblem, isHeaderName } from "./outgoing-header.ts";

/** How the gateway authenticates to a destination, and which certificates of the destination it trusts. */

const PEM_MAX_LENGTH = 65_536;

const AUTH_DESCRIPTION =
  "How to authenticate there: `basic` (`username`, `password`), `bearer` (`token`), `oauth2` for client credentials " +
  "(`token_url`, `client_id`, `client_secret`; optionally `scope`, `audience`, `client_auth`: `header` or `body`), `mtls` " +
  "(`cert` and `key` as PEM), or `ca` alone. `ca` is allowed with each type: PEM of the authorities to trust instead of the usual ones";

/** One flat shape, so that an error can name a missing or extra field; rules say which field belongs to which type. */
export const DestinationAuthInput = Type.Object(
  {
    type: Type.Union([
      Type.Literal("basic"),
      Type.Literal("bearer"),
      Type.Literal("oauth2"),
      Type.Literal("mtls"),
      Type.Literal("ca"),
    ]),
    username: Type.Optional(Type.String({ maxLength: 512 })),
    password: Type.Optional(Type.String({ maxLength: 1024 })),
    token: Type.Optional(Type.String({ maxLength: 4096 })),
    token_url: Type.Optional(Type.String({ maxLength: 2048 })),
    client_id: Type.Optional(Type.String({ maxLength: 512 })),
    client_secret: Type.Optional(Type.String({ maxLength: 1024 })),
    /** Where a token request contains the client's id and secret (RFC 6749 §2.3.1). */
    client_auth: Type.Optional(Type.Union([Type.Literal("header"), Type.Literal("body")])),
    scope: Type.Optional(Type.String({ maxLength: 2048 })),
    audience: Type.Optional(Type.String({ maxLength: 2048 })),
    cert: Type.Optional(Type.String({ maxLength: PEM_MAX_LENGTH })),
    key: Type.Optional(Type.String({ maxLength: PEM_MAX_LENGTH })),
    ca: Type.Optional(Type.String({ maxLength: PEM_MAX_LENGTH })),
  },
  { additionalProperties: false },
);
export type DestinationAuthInput = Static<typeof DestinationAuthInput>;

export const SECRET_FIELDS = ["password", "token", "client_secret", "key"] as const;

export function maskAuth(input: DestinationAuthInput): DestinationAuthInput {
  const shown = { ...input };
  for (const field of SECRET_FIELDS) if (shown[field] !== undefined) shown[field] = MASK;
  return shown;
}

function findMaskedField(input: DestinationAuthInput): string | undefined {
  return SECRET_FIELDS.find((field) => input[field] === MASK);
}

/** Settings for all kinds that send requests to a URL. */
export const REQUEST_SETTINGS = {
  retry_on: Type.Optional(
    Type.Object(
      {
        statuses: Type.Optional(Type.Array(Type.Integer({ minimum: 200, maximum: 599 }), { maxItems: 50 })),
        body_contains: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
      },
      { additionalProperties: false, description: "Additional answers that count as failures to retry" },
    ),
  ),
  headers: withDefault(
    orNull(Type.Record(Type.String(), Type.String({ maxLength: 4096 }), { maxProperties: 50 }), {
      description:
        "Sent with every attempt, but to no other origin; their values are shown to nobody: `***`, which sent back " +
        "stands for what is stored",
    }),
    {},
  ),
  allowed_ips: withDefault(
    orNull(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { minItems: 1, maxItems: 100 }), {
      description: "CIDRs that the destination's address must be in; never opens a private network",
    }),
    null,
  ),
  allow_own_url: withDefault(
    Type.Boolean({
      description: "Allow a `url` that leads back to this gateway; an event that goes round is refused after 8 times",
    }),
    false,
  ),
  auth: withDefault(orNull(DestinationAuthInput, { description: AUTH_DESCRIPTION }), null),
};

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

/** Checks headers that are sent with every attempt; `signatureHeader` is in lower case. */
export function checkOwnHeaders(
  headers: Readonly<Record<string, string>> | null | undefined,
  signatureHeader?: string,
): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers ?? {})) {
    const key = name.toLowerCase();
    const isSignature = key === signatureHeader || key === `${signatureHeader}-next`;
    const message =
      findHeaderProblem(name, value) ??
      (isSignature ? "is set by the gateway" : undefined) ??
      (value === MASK ? `${MASK} is only how a stored value is shown; give the value again` : undefined) ??
      (seen.has(key) ? "is given twice; upper and lower case make no difference in header names" : undefined);
    seen.add(key);
    if (message === undefined) continue;
    problems.push(
      isHeaderName(name)
        ? { field: `headers.${name}`, message }
        : { field: "headers", message: `${JSON.stringify(name)} ${message}` },
    );
  }
  return problems;
}
