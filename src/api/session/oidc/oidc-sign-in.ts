import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../model/clock.ts";
import { PosthornError } from "../../../model/errors.ts";
import { findGroupRule, type GroupRule } from "../../../model/scopes.ts";
import { USER_PREFIX, type Caller } from "../../../resources/keys.ts";
import { publicBaseOf } from "../../../intake/request.ts";
import type { Logins } from "./logins.ts";
import type { Provider } from "./provider.ts";
import { chooseReturnPath } from "./return-path.ts";
import { readGroups, readName, type Claims } from "./user-claims.ts";

/** Sign-in to the dashboard with a provider: authorization code flow with PKCE, state and nonce. */
export interface OidcSignIn {
  /** For the button. */
  readonly name: string;
  /** Returns the address of the provider's page, and the cookie that the callback needs. */
  begin(request: IncomingMessage, returnTo: string | undefined): Promise<{ location: string; cookie: string }>;
  /** Returns the user and the page that they wanted. Throws `group_not_allowed` when no group of theirs has rights. */
  finish(request: IncomingMessage): Promise<{ caller: Caller; returnTo: string }>;
  /** Returns the cookie that removes the login. */
  end(request: IncomingMessage): string;
}

export interface OidcSignInOptions {
  name: string;
  provider: Provider;
  logins: Logins;
  rules: readonly GroupRule[];
  groupsClaim: string;
  sessionMs: number;
  publicUrl: (request: IncomingMessage) => string;
  clock: Pick<Clock, "wall">;
}

export const OIDC_PATH = "/api/v1/sign-in/oidc";
export const CALLBACK_PATH = `${OIDC_PATH}/callback`;

/** OpenID Connect Core, section 2. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/;
/** Each waits for the provider, and nobody has signed in yet. */
const MAX_AT_ONCE = 100;
const MAX_SHOWN_GROUPS = 30;
const MAX_SHOWN_LENGTH = 100;

export function createOidcSignIn(options: OidcSignInOptions): OidcSignIn {
  const { name, provider, logins, publicUrl } = options;
  let underWay = 0;

  function toCaller(claims: Claims & { sub: string }): Caller {
    const { sub: subject } = claims;
    if (!SUBJECT.test(subject)) {
      throw new PosthornError("sign_in_failed", "The provider's answer is not valid: sub has no allowed form.");
    }
    const userName = readName(claims, subject);
    const { scopes, tenantId } = getRule(claims, userName);
    const user = { name: userName, until: options.clock.wall() + options.sessionMs };
    return { keyId: USER_PREFIX + subject, scopes, tenantId, expiresAt: undefined, user };
  }

  function getRule(claims: Claims, userName: string): GroupRule {
    const groups = readGroups(claims, options.groupsClaim);
    const rule = findGroupRule(options.rules, groups ?? []);
    if (rule !== undefined) return rule;
    const shown = (groups ?? []).slice(0, MAX_SHOWN_GROUPS).map((group) => group.slice(0, MAX_SHOWN_LENGTH));
    const more = (groups?.length ?? 0) - shown.length;
    const list = shown.map((group) => JSON.stringify(group)).join(", ") + (more > 0 ? ` and ${more} more` : "");
    const given = list === "" ? "is in no group" : `is in the groups ${list}, and none of them may sign in`;
    throw new PosthornError(
      "group_not_allowed",
      groups === undefined
        ? `The provider sent no claim ${JSON.stringify(options.groupsClaim)} for ${userName}. An administrator can name ` +
            "the claim in POSTHORN_OIDC_GROUPS_CLAIM, or ask the provider for it with POSTHORN_OIDC_SCOPES."
        : `${userName} ${given}. An administrator can add a group to POSTHORN_OIDC_GROUPS (oidc.groups).`,
      { details: { groups: shown } },
    );
  }

  return {
    name,
    async begin(request, returnTo) {
      const redirectUri = publicBaseOf(publicUrl, request) + CALLBACK_PATH;
      const { url, ...login } = await provider.begin(redirectUri);
      const cookie = logins.begin(request, { ...login, redirectUri, returnTo: chooseReturnPath(returnTo) });
      return { location: url.href, cookie };
    },
    async finish(request) {
      // Before the login is used up.
      if (underWay >= MAX_AT_ONCE)
        throw new PosthornError("too_many_requests", "Too many users sign in at once. Try again.");
      const { searchParams } = new URL(request.url ?? "/", "http://gateway.invalid");
      const login = logins.take(request, searchParams.get("state") ?? undefined);
      underWay++;
      try {
        const callback = new URL(login.redirectUri);
        callback.search = searchParams.toString();
        return { caller: toCaller(await provider.finish(callback, login)), returnTo: login.returnTo };
      } finally {
        underWay--;
      }
    },
    end: logins.end,
  };
}

/** When one of these settings changes, users must sign in again. */
export function markOfUsers(settings: {
  issuer: string;
  clientId: string;
  groupsClaim: string;
  groups: readonly string[];
}) {
  const { issuer, clientId, groupsClaim, groups } = settings;
  const text = JSON.stringify([issuer, clientId, groupsClaim, groups]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}
