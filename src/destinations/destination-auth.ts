import { Type, type Static } from "typebox";
import { MASK } from "../model/secrets.ts";

/** How the gateway authenticates to a destination, and which certificates of the destination it trusts. */

const PEM_MAX_LENGTH = 65_536;

export const AUTH_DESCRIPTION =
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

interface AnyAuth {
  /** PEM of the authorities to trust instead of the usual ones. */
  ca: string | undefined;
}

/** Auth settings that passed the rules, as the sender uses them: decrypted, only in memory. */
export type DestinationAuth =
  | (AnyAuth & { type: "basic"; username: string; password: string })
  | (AnyAuth & { type: "bearer"; token: string })
  | (AnyAuth & OAuth2Credentials & { type: "oauth2" })
  | (AnyAuth & { type: "mtls"; cert: string; key: string })
  | (AnyAuth & { type: "ca" });

export interface OAuth2Credentials {
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  clientAuth: "header" | "body";
  scope: string | undefined;
  audience: string | undefined;
}

export function toDestinationAuth(input: DestinationAuthInput | null | undefined): DestinationAuth | undefined {
  if (input === undefined || input === null) return undefined;
  const { type, ca } = input;
  switch (type) {
    case "basic":
      return { type, ca, username: input.username ?? "", password: input.password ?? "" };
    case "bearer":
      return { type, ca, token: input.token ?? "" };
    case "oauth2":
      return {
        type,
        ca,
        tokenUrl: input.token_url ?? "",
        clientId: input.client_id ?? "",
        clientSecret: input.client_secret ?? "",
        clientAuth: input.client_auth ?? "header",
        scope: input.scope,
        audience: input.audience,
      };
    case "mtls":
      return { type, ca, cert: input.cert ?? "", key: input.key ?? "" };
    case "ca":
      return { type, ca };
  }
}

export const SECRET_FIELDS = ["password", "token", "client_secret", "key"] as const;

export function maskAuth(input: DestinationAuthInput): DestinationAuthInput {
  const shown = { ...input };
  for (const field of SECRET_FIELDS) if (shown[field] !== undefined) shown[field] = MASK;
  return shown;
}

export function findMaskedField(input: DestinationAuthInput): string | undefined {
  return SECRET_FIELDS.find((field) => input[field] === MASK);
}
