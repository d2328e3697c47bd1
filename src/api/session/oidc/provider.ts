import type { Configuration, CustomFetch } from "openid-client";
import type { Clock } from "../../../model/clock.ts";
import { PosthornError } from "../../../model/errors.ts";
import { explainDiscoveryFault, explainSignInFault } from "./provider-fault.ts";
import { readGroups, type Claims } from "./user-claims.ts";

/** An OpenID Connect provider, asked for its settings when somebody first signs in. */
export interface Provider {
  /** Throws `sign_in_provider_failed` when the provider does not answer as it should. */
  begin(redirectUri: string): Promise<BegunLogin>;
  /** Exchanges the code in the URL for the user's claims, which are verified. */
  finish(callback: URL, checks: LoginChecks): Promise<Claims & { sub: string }>;
}

export interface LoginChecks {
  state: string;
  nonce: string;
  codeVerifier: string;
}

export interface BegunLogin extends LoginChecks {
  /** The provider's page for the user. */
  url: URL;
}

export interface ProviderOptions {
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

export function createProvider(options: ProviderOptions): Provider {
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
    async begin(redirectUri) {
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
    async finish(callback, { state, nonce, codeVerifier }) {
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
