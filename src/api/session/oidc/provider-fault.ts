import { PosthornError } from "../../../model/errors.ts";
import { UnreachableProvider } from "./guarded-fetch.ts";

const MAX_TEXT_LENGTH = 200;
/** RFC 6749, section 5.2: the gateway's own settings are wrong. */
const CLIENT_FAULTS = ["invalid_client", "unauthorized_client"];

/** Why the provider's description of itself cannot be used. */
export function explainDiscoveryFault(error: unknown, issuer: URL): PosthornError {
  if (error instanceof PosthornError) return error;
  if (error instanceof UnreachableProvider) return unreachable(error, issuer);
  return providerFailed(
    error,
    `${issuer.href} does not answer as an OpenID Connect provider (${reasonOf(error)}). Check POSTHORN_OIDC_ISSUER.`,
  );
}

/** Why a user could not be signed in, in words for that user. */
export async function explainSignInFault(error: unknown, issuer: URL): Promise<PosthornError> {
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
