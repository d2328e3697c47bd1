import { createHash } from "node:crypto";
import { parseObject } from "./json.ts";
import type { DestinationAuthInput } from "./request-settings.ts";
import { PosthornError } from "../model/errors.ts";
import { type HeaderBlock, headerLine, toHeaderBlock } from "../model/headers.ts";
import type { SenderServices } from "./sender.ts";
import { type ConnectionTerms, createConnectionTerms, createTokenTerms } from "./wire/connection-terms.ts";
import type { HttpRequest, HttpResult } from "./wire/http.ts";

/** The settings of a destination that its requests have in common. */
interface Access {
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: DestinationAuthInput | undefined;
  /** CIDRs; when not given, any address that the guard allows. */
  readonly allowedIps: readonly string[] | undefined;
}

export type PreparedAccess = ReturnType<typeof prepareAccess>;

export function prepareAccess({ headers, auth, allowedIps }: Access, tenantId: string) {
  const authorization = buildAuthorization(auth);
  const login = authorization === undefined ? "" : headerLine("Authorization", authorization);
  return {
    /** Headers for the origin of the destination and no other. */
    originHeaders: toHeaderBlock(headers) + login,
    hasOwnAgent: Object.keys(headers).some((name) => name.toLowerCase() === "user-agent"),
    /** Set when the value of `Authorization` must be fetched. */
    tokenClient: auth?.type === "oauth2" ? buildTokenClient(auth, tenantId) : undefined,
    terms: createConnectionTerms(
      allowedIps,
      auth?.ca,
      auth?.type === "mtls" ? { cert: auth.cert ?? "", key: auth.key ?? "" } : undefined,
    ),
  };
}

/** Throws when requests to such a destination must not be sent. `prefix`: of the settings' names on the wire. */
export function checkPlaces(
  { checkUrl, findOwnUrlProblem }: Pick<SenderServices, "checkUrl" | "findOwnUrlProblem">,
  prefix: "" | "destination.",
  url: string,
  settings: { allow_own_url?: boolean | undefined; auth?: DestinationAuthInput | null | undefined } = {},
): void {
  const field = `${prefix}url`;
  checkUrl(url, field);
  const problem = settings.allow_own_url === true ? undefined : findOwnUrlProblem(url);
  if (problem !== undefined) {
    throw new PosthornError("invalid_field", `The destination cannot be used: ${problem}`, { field });
  }
  const tokenUrl = settings.auth?.token_url;
  if (tokenUrl !== undefined) checkUrl(tokenUrl, `${prefix}auth.token_url`);
}

function buildAuthorization(auth: DestinationAuthInput | undefined): string | undefined {
  if (auth?.type === "bearer") return `Bearer ${auth.token}`;
  if (auth?.type !== "basic") return undefined;
  return `Basic ${Buffer.from(`${auth.username}:${auth.password}`, "utf8").toString("base64")}`;
}

function buildTokenClient(auth: DestinationAuthInput, owner: string): TokenClient {
  const { token_url, client_id, client_secret, client_auth, scope, audience, ca } = auth;
  const facts = JSON.stringify([token_url, client_id, client_secret, client_auth, scope, audience, ca]);
  const id = createHash("sha256").update(facts).digest("base64");
  return { id, auth, owner, terms: createTokenTerms(ca) };
}

interface TokenClient {
  /** The same for the same credentials, without revealing them. */
  id: string;
  auth: DestinationAuthInput;
  /** The tenant that asks. */
  owner: string;
  terms: ConnectionTerms | undefined;
}

type Request = HttpRequest & { originHeaders: HeaderBlock };

type TokenAnswer = { token: string } | { failure: HttpResult };

interface Entry {
  token: string | undefined;
  freshUntil: number;
  waiting: ((answer: TokenAnswer) => void)[];
  noRefreshUntil: number;
}

const TIMEOUT_MS = 10_000;
const MAX_ENTRIES = 10_000;
const DEFAULT_LIFETIME_S = 300;
const MAX_LIFETIME_S = 86_400;
/** A token is renewed before it expires, so that none expires on the way. */
const MAX_MARGIN_S = 60;
const USELESS_MS = 10_000;
const ACCESS_TOKEN = /^[\x21-\x7e]+$/;

/**
 * Sends requests with a token (OAuth 2.0 client credentials, RFC 6749 §4.4), and after a 401 once more with a new token:
 * all within the time of the request. Tokens are kept while they are valid, and requested once for all that wait.
 */
export function createTokenRequests({ client: http, clock, userAgent }: SenderServices) {
  const entries = new Map<string, Entry>();

  function findEntry(id: string): Entry {
    let entry = entries.get(id);
    if (entry === undefined) {
      if (entries.size >= MAX_ENTRIES) forgetUnused();
      entry = { token: undefined, freshUntil: 0, waiting: [], noRefreshUntil: 0 };
      entries.set(id, entry);
    }
    return entry;
  }

  function forgetUnused(): void {
    for (const [id, { waiting }] of entries) if (waiting.length === 0) entries.delete(id);
  }

  function fetchToken(client: TokenClient, entry: Entry): void {
    const url = client.auth.token_url ?? "";
    const { headers, body } = buildTokenRequest(client.auth, userAgent);
    // No redirects: the request contains the client secret.
    const { owner, terms } = client;
    const request = { method: "POST", url, headers, body, timeoutMs: TIMEOUT_MS, maxRedirects: 0, owner, terms };
    http.request(request, (result) => {
      const answer = readAnswer(result);
      if ("token" in answer) {
        entry.token = answer.token;
        entry.freshUntil = clock.now() + answer.lifetimeS * 1000;
      }
      const { waiting } = entry;
      entry.waiting = [];
      for (const done of waiting) done(answer);
    });
  }

  function requestWithToken(client: TokenClient, request: Request, done: (result: HttpResult) => void): void {
    const entry = findEntry(client.id);
    const endsAt = clock.now() + request.timeoutMs;

    function withToken(use: (token: string) => void): void {
      const { token, waiting } = entry;
      if (token !== undefined && clock.now() < entry.freshUntil) return use(token);
      let isLate = false;
      const timer = clock.setTimer(endsAt, () => {
        isLate = true;
        done({ kind: "timed_out", error: `token endpoint: no token within ${request.timeoutMs} ms` });
      });
      waiting.push((answer) => {
        timer.cancel();
        if (isLate) return;
        if ("token" in answer) use(answer.token);
        else done(answer.failure);
      });
      if (waiting.length === 1) fetchToken(client, entry);
    }

    function send(token: string, answer: (result: HttpResult) => void): void {
      const originHeaders = request.originHeaders + headerLine("Authorization", `Bearer ${token}`);
      http.request({ ...request, originHeaders, timeoutMs: Math.max(1, endsAt - clock.now()) }, answer);
    }

    /** Whether to try another token than the one that the destination refused. */
    function mayRenew(token: string): boolean {
      if (clock.now() < entry.noRefreshUntil) return false;
      // Another attempt may have fetched a new token meanwhile.
      if (entry.token === token) entry.token = undefined;
      return true;
    }

    const isRefused = (result: HttpResult) => result.kind === "response" && result.status === 401;

    withToken((token) =>
      send(token, (first) => {
        if (!isRefused(first) || !mayRenew(token)) return done(first);
        withToken((newToken) =>
          send(newToken, (second) => {
            // It refused the new token too: no more tokens are requested for a while.
            if (isRefused(second)) entry.noRefreshUntil = clock.now() + USELESS_MS;
            done(second);
          }),
        );
      }),
    );
  }

  return requestWithToken;
}

function buildTokenRequest(
  auth: DestinationAuthInput,
  userAgent: string,
): { headers: Record<string, string>; body: Buffer } {
  const { client_id: clientId = "", client_secret: clientSecret = "", scope, audience } = auth;
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  if (scope !== undefined) form.set("scope", scope);
  if (audience !== undefined) form.set("audience", audience);
  const headers: Record<string, string> = {
    "Content-Type": "application/x-www-form-urlencoded",
    Accept: "application/json",
    "User-Agent": userAgent,
  };
  if (auth.client_auth === "body") {
    form.set("client_id", clientId);
    form.set("client_secret", clientSecret);
  } else {
    const credentials = `${formEncode(clientId)}:${formEncode(clientSecret)}`;
    headers["Authorization"] = `Basic ${Buffer.from(credentials, "latin1").toString("base64")}`;
  }
  return { headers, body: Buffer.from(form.toString(), "utf8") };
}

/** RFC 6749 §2.3.1 requires both to be encoded before they are joined. */
function formEncode(text: string): string {
  return new URLSearchParams({ t: text }).toString().slice(2);
}

type ReadAnswer = { token: string; lifetimeS: number } | { failure: HttpResult };

/** Errors do not repeat the endpoint's answer, only the error code of the RFC. */
function readAnswer(result: HttpResult): ReadAnswer {
  if (result.kind === "blocked" || result.kind === "error") {
    return { failure: { kind: result.kind, error: `token endpoint: ${result.error}` } };
  }
  if (result.kind !== "response") return fail(result.error);
  const answer = parseObject(result.body) ?? {};
  if (result.status !== 200) {
    const code = answer["error"];
    const isKnown = typeof code === "string" && /^[a-z_]{1,40}$/.test(code);
    return fail(`answered ${result.status}${isKnown ? ` (${code})` : ""}`);
  }
  const { access_token: token, token_type: type, expires_in: expiresIn } = answer;
  if (typeof token !== "string" || !ACCESS_TOKEN.test(token)) return fail("answered 200 without an access_token");
  if (type !== undefined && String(type).toLowerCase() !== "bearer") return fail("its token is not a bearer token");
  const seconds = Number(expiresIn);
  const lifetimeS = seconds > 0 ? Math.min(seconds, MAX_LIFETIME_S) : DEFAULT_LIFETIME_S;
  return { token, lifetimeS: lifetimeS - Math.min(MAX_MARGIN_S, lifetimeS * 0.2) };
}

/** Says nothing about the destination: the delivery is retried and does not become a dead letter. */
function fail(reason: string): ReadAnswer {
  return { failure: { kind: "unreachable", error: `token endpoint: ${reason}` } };
}
