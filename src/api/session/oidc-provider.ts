import type { Configuration, CustomFetch } from "openid-client";
import type { HttpClient, HttpResult } from "../../destinations/wire/http.ts";
import { parseUrl } from "../../model/addresses.ts";
import type { Clock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";

interface LoginChecks {
  state: string;
  nonce: string;
  codeVerifier: string;
}

interface ProviderOptions {
  issuer: URL;
  clientId: string;
  clientSecret: string;
  scopes: readonly string[];
  groupsClaim: string;
  fetch: CustomFetch;
  clock: Pick<Clock, "now">;
}

const TIMEOUT_S = 10;
/** Then a provider that has moved an endpoint is noticed. Its keys are renewed by openid-client. */
const SETTINGS_MS = 3_600_000;

export type Provider = ReturnType<typeof createProvider>;

/** An OpenID Connect provider, asked for its settings when somebody first signs in. */
export function createProvider(options: ProviderOptions) {
  const { issuer, clientId, clientSecret, fetch, clock } = options;
  let known: { configuration: Promise<Configuration>; until: number } | undefined;

  async function discover(): Promise<Configuration> {
    const openid = await import("openid-client");
    const basic = openid.ClientSecretBasic(clientSecret);
    const post = openid.ClientSecretPost(clientSecret);
    const configuration = await openid.discovery(
      issuer,
      clientId,
      {},
      (server, client, body, headers) => {
        // OpenID Connect Core, section 9: the default is client_secret_basic.
        const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
        return (methods.includes("client_secret_basic") ? basic : post)(server, client, body, headers);
      },
      {
        [openid.customFetch]: fetch,
        timeout: TIMEOUT_S,
        execute: [
          // Otherwise the signature of an ID token is not checked when it comes from the provider itself.
          openid.enableNonRepudiationChecks,
          ...(issuer.protocol === "http:" ? [openid.allowInsecureRequests] : []),
        ],
      },
    );
    checkServer(configuration, issuer);
    return configuration;
  }

  /** A failure is not remembered: the next sign-in asks again. */
  async function configure(): Promise<Configuration> {
    if (known === undefined || known.until <= clock.now()) {
      const configuration = discover().catch((error: unknown) => {
        throw explainDiscoveryFault(error, issuer);
      });
      const asked = { configuration, until: clock.now() + SETTINGS_MS };
      known = asked;
      asked.configuration.catch(() => {
        if (known === asked) known = undefined;
      });
    }
    return known.configuration;
  }

  return {
    /** The `url` is the provider's page for the user. Throws `sign_in_provider_failed` when it does not answer as it should. */
    async begin(redirectUri: string) {
      const configuration = await configure();
      const openid = await import("openid-client");
      const [state, nonce] = [openid.randomState(), openid.randomNonce()];
      const codeVerifier = openid.randomPKCECodeVerifier();
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: options.scopes.join(" "),
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
      });
      return { url, state, nonce, codeVerifier };
    },
    /** Exchanges the code in the URL for the user's claims, which are verified. */
    async finish(callback: URL, { state, nonce, codeVerifier }: LoginChecks): Promise<Claims & { sub: string }> {
      const configuration = await configure();
      const openid = await import("openid-client");
      try {
        const tokens = await openid.authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (claims === undefined) throw new PosthornError("sign_in_failed", "The provider sent no ID token.");
        const hasGroups = readGroups(claims, options.groupsClaim) !== undefined;
        if (hasGroups || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
        return { ...(await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
      } catch (error) {
        throw await explainSignInFault(error, issuer);
      }
    },
  };
}

/** openid-client accepts other issuers of some providers, whose tokens could come from anybody's account there. */
function checkServer(configuration: Configuration, issuer: URL): void {
  const { issuer: named, authorization_endpoint: endpoint = "" } = configuration.serverMetadata();
  if (new URL(named).href !== issuer.href) {
    throw new PosthornError(
      "sign_in_provider_failed",
      `The provider at ${issuer.href} calls itself ${named}. Set POSTHORN_OIDC_ISSUER to the issuer of your own account.`,
    );
  }
  const { protocol } = new URL(endpoint);
  if (protocol !== "https:" && protocol !== issuer.protocol) {
    throw new PosthornError("sign_in_provider_failed", `The provider's page for users, ${endpoint}, is not https.`);
  }
}

const MAX_TEXT_LENGTH = 200;
/** RFC 6749, section 5.2: the gateway's own settings are wrong. */
const CLIENT_FAULTS = ["invalid_client", "unauthorized_client"];

/** Why the provider's description of itself cannot be used. */
function explainDiscoveryFault(error: unknown, issuer: URL): PosthornError {
  if (error instanceof PosthornError) return error;
  if (error instanceof UnreachableProvider) return unreachable(error, issuer);
  return providerFailed(
    error,
    `${issuer.href} does not answer as an OpenID Connect provider (${reasonOf(error)}). Check POSTHORN_OIDC_ISSUER.`,
  );
}

/** Why a user could not be signed in, in words for that user. */
async function explainSignInFault(error: unknown, issuer: URL): Promise<PosthornError> {
  if (error instanceof PosthornError) return error;
  if (error instanceof UnreachableProvider) return unreachable(error, issuer);
  const { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } =
    await import("openid-client");
  if (error instanceof AuthorizationResponseError) {
    return failed(error, `The provider did not sign you in: ${describe(error)}.`);
  }
  const isChallenge = error instanceof WWWAuthenticateChallengeError;
  if (isChallenge || (error instanceof ResponseBodyError && CLIENT_FAULTS.includes(error.error))) {
    return providerFailed(
      error,
      `The provider rejected the gateway (${isChallenge ? error.status : describe(error)}). Check ` +
        "POSTHORN_OIDC_CLIENT_ID and POSTHORN_OIDC_CLIENT_SECRET.",
    );
  }
  if (error instanceof ResponseBodyError) {
    return failed(error, `The provider rejected the sign-in: ${describe(error)}. Begin again.`);
  }
  return failed(error, `The provider's answer is not valid: ${reasonOf(error)}. Begin again.`);
}

function unreachable(error: UnreachableProvider, issuer: URL): PosthornError {
  return providerFailed(
    error,
    `The sign-in provider ${issuer.href} cannot be reached (${cut(error.message)}). Sign in with a key, or try again later.`,
  );
}

/** The innermost message says which check failed. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: unknown };
  const inner = cause instanceof Error && cause.message !== "" ? cause.message : message;
  return cut(inner ?? String(error));
}

function describe({
  error,
  error_description: text,
}: {
  error: string;
  error_description?: string | undefined;
}): string {
  return text === undefined || text === "" ? cut(error) : `${cut(error)} (${cut(text)})`;
}

function cut(text: string): string {
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim();
  return plain.length > MAX_TEXT_LENGTH ? `${plain.slice(0, MAX_TEXT_LENGTH)}…` : plain;
}

function failed(cause: unknown, message: string): PosthornError {
  return new PosthornError("sign_in_failed", message, { cause });
}

function providerFailed(cause: unknown, message: string): PosthornError {
  return new PosthornError("sign_in_provider_failed", message, { cause });
}

interface GuardedFetchOptions {
  issuer: URL;
  /** The operator named the issuer, so it may be on a private network. */
  issuerClient: Pick<HttpClient, "request">;
  /** The issuer names other hosts, so they may be reached only like the destinations of deliveries. */
  client: Pick<HttpClient, "request">;
  timeoutMs: number;
}

/** A `TypeError`, because openid-client passes only these on as they are. */
class UnreachableProvider extends TypeError {
  override readonly name = "UnreachableProvider";
}

/** Lists of keys are longer than what is kept of other answers. */
const KEPT_BYTES = 64 * 1024;

/** `fetch` for openid-client over the gateway's own client, which checks addresses. Follows no redirects. */
export function createGuardedFetch({ issuer, issuerClient, client, timeoutMs }: GuardedFetchOptions): CustomFetch {
  return async (href, { method, headers, body }) => {
    const url = parseUrl(href);
    if (url === undefined) throw new UnreachableProvider(`${JSON.stringify(href)} is not a URL`);
    if (url.protocol !== "https:" && url.protocol !== issuer.protocol) {
      throw new UnreachableProvider(`${url.origin} is not https`);
    }
    const by = url.origin === issuer.origin ? issuerClient : client;
    const text = body instanceof URLSearchParams ? body.toString() : body;
    if (text !== undefined && text !== null && typeof text !== "string") {
      throw new UnreachableProvider("the body of a request to the provider is not text");
    }
    const request = {
      method,
      url,
      headers,
      body: Buffer.from(text ?? ""),
      timeoutMs,
      maxRedirects: 0,
      keptBytes: KEPT_BYTES,
    };
    const result = await new Promise<HttpResult>((resolve) => by.request(request, resolve));
    if (result.kind !== "response") throw new UnreachableProvider(`${url.origin}: ${result.error}`);
    const hasBody = result.status !== 204 && result.status !== 205 && result.status !== 304;
    return new Response(hasBody ? Buffer.from(result.body) : null, { status: result.status, headers: result.headers });
  };
}

/** Claims of a user, from the ID token and the provider's user info. */
export type Claims = Readonly<Record<string, unknown>>;

const MAX_GROUPS = 10_000;

/** Undefined when the claim is missing; a single text counts as one group. A name with dots may be nested. */
export function readGroups(claims: Claims, name: string): readonly string[] | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : findNested(claims, name.split("."));
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) return undefined;
  return value.slice(0, MAX_GROUPS).filter((group): group is string => typeof group === "string");
}

function findNested(claims: unknown, steps: readonly string[]): unknown {
  let value = claims;
  for (const step of steps) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Claims)[step];
  }
  return value;
}
