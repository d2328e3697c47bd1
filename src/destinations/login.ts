import { createHash } from "node:crypto";
import type { Clock } from "../model/clock.ts";
import type { DestinationAuth } from "./destination-auth.ts";
import { type HeaderBlock, headerLine } from "../model/headers.ts";
import { type ConnectionTerms, createConnectionTerms, createTokenTerms } from "./wire/connection-terms.ts";
import type { HttpClient, HttpRequest, HttpResult } from "./wire/http-client.ts";
import type { OAuth2Tokens, TokenAnswer, TokenClient } from "./oauth2-tokens.ts";

/** What `auth` and `allowed_ips` of a subscription mean for its requests. */
export interface PreparedAuth {
  /** A fixed value of `Authorization`. */
  authorization: string | undefined;
  /** Set when the value of `Authorization` must be fetched. */
  tokenClient: TokenClient | undefined;
  terms: ConnectionTerms | undefined;
}

/** Credentials for a destination, and the addresses it may have. */
interface Access {
  readonly auth: DestinationAuth | undefined;
  /** CIDRs; when not given, any address that the guard allows. */
  readonly allowedIps: readonly string[] | undefined;
}

export function prepareAuth({ auth, allowedIps }: Access, tenantId: string): PreparedAuth {
  return {
    authorization: buildAuthorization(auth),
    tokenClient: auth?.type === "oauth2" ? buildTokenClient(auth, tenantId) : undefined,
    terms: createConnectionTerms(allowedIps, auth?.ca, findIdentity(auth)),
  };
}

function findIdentity(auth: DestinationAuth | undefined): { cert: string; key: string } | undefined {
  return auth?.type === "mtls" ? { cert: auth.cert, key: auth.key } : undefined;
}

function buildAuthorization(auth: DestinationAuth | undefined): string | undefined {
  if (auth?.type === "bearer") return `Bearer ${auth.token}`;
  if (auth?.type !== "basic") return undefined;
  return `Basic ${Buffer.from(`${auth.username}:${auth.password}`, "utf8").toString("base64")}`;
}

function buildTokenClient(auth: DestinationAuth & { type: "oauth2" }, owner: string): TokenClient {
  const { tokenUrl, clientId, clientSecret, clientAuth, scope, audience, ca } = auth;
  const facts = JSON.stringify([tokenUrl, clientId, clientSecret, clientAuth, scope, audience, ca]);
  const id = createHash("sha256").update(facts).digest("base64");
  return { id, tokenUrl, clientId, clientSecret, clientAuth, scope, audience, owner, terms: createTokenTerms(ca) };
}

export interface TokenRequests {
  client: HttpClient;
  tokens: OAuth2Tokens;
  clock: Clock;
}

/** Sends a request with a token; after a 401 once more with a new token. All within the request's time. */
export function requestWithToken(
  { client, tokens, clock }: TokenRequests,
  tokenClient: TokenClient,
  request: HttpRequest & { originHeaders: HeaderBlock },
  done: (result: HttpResult) => void,
): void {
  const endsAt = clock.now() + request.timeoutMs;
  const { originHeaders } = request;

  function withToken(use: (token: string) => void): void {
    let isLate = false;
    const timer = clock.setTimer(endsAt, () => {
      isLate = true;
      done({ kind: "timed_out", error: `token endpoint: no token within ${request.timeoutMs} ms` });
    });
    tokens.get(tokenClient, (answer: TokenAnswer) => {
      timer.cancel();
      if (isLate) return;
      if ("token" in answer) return use(answer.token);
      done(answer.failure);
    });
  }

  function send(token: string, answer: (result: HttpResult) => void): void {
    const own = originHeaders + headerLine("Authorization", `Bearer ${token}`);
    client.request({ ...request, originHeaders: own, timeoutMs: Math.max(1, endsAt - clock.now()) }, answer);
  }

  const isRefused = (result: HttpResult) => result.kind === "response" && result.status === 401;

  withToken((token) =>
    send(token, (first) => {
      if (!isRefused(first) || !tokens.refuse(tokenClient, token)) return done(first);
      withToken((newToken) =>
        send(newToken, (second) => {
          if (isRefused(second)) tokens.noteUseless(tokenClient);
          done(second);
        }),
      );
    }),
  );
}
