import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { createAddressGuard } from "../../destinations/wire/address-guard.ts";
import { openHttpClient } from "../../destinations/wire/http-client.ts";
import type { HttpClient } from "../../destinations/wire/http.ts";
import { parseEgressProxy } from "../../destinations/wire/proxy-tunnel.ts";
import { publicBaseOf } from "../../intake/request.ts";
import { isLoopbackHost, parseUrl } from "../../model/addresses.ts";
import type { Clock } from "../../model/clock.ts";
import { PosthornError } from "../../model/errors.ts";
import { findGroupRule, parseGroupRule, type GroupRule } from "../../model/scopes.ts";
import { USER_PREFIX, type Caller } from "../../resources/keys.ts";
import type { SecretBox } from "../../resources/secret-box.ts";
import { DASHBOARD_PAGES } from "../dashboard/pages.ts";
import { createGuardedFetch, createProvider, readGroups, type Claims, type Provider } from "./oidc-provider.ts";
import { createCookies } from "./sessions.ts";

export const OIDC_PATH = "/api/v1/sign-in/oidc";
export const CALLBACK_PATH = `${OIDC_PATH}/callback`;

/** OpenID Connect Core, section 2. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/;
/** Each waits for the provider, and nobody has signed in yet. */
const MAX_AT_ONCE = 100;
const MAX_SHOWN_GROUPS = 30;
const MAX_SHOWN_LENGTH = 100;

export type OidcSignIn = ReturnType<typeof createOidcSignIn>;

/** Sign-in to the dashboard with a provider: authorization code flow with PKCE, state and nonce. */
function createOidcSignIn(options: {
  name: string;
  provider: Provider;
  logins: ReturnType<typeof createLogins>;
  rules: readonly GroupRule[];
  groupsClaim: string;
  sessionMs: number;
  publicUrl: (request: IncomingMessage) => string;
  clock: Pick<Clock, "wall">;
}) {
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
    /** For the button. */
    name,
    /** Returns the address of the provider's page, and the cookie that the callback needs. */
    async begin(request: IncomingMessage, returnTo: string | undefined) {
      const redirectUri = publicBaseOf(publicUrl, request) + CALLBACK_PATH;
      const { url, ...login } = await provider.begin(redirectUri);
      const cookie = logins.begin(request, { ...login, redirectUri, returnTo: chooseReturnPath(returnTo) });
      return { location: url.href, cookie };
    },
    /** Returns the user and the page that they wanted. Throws `group_not_allowed` when no group of theirs has rights. */
    async finish(request: IncomingMessage) {
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
    /** Returns the cookie that removes the login. */
    end: logins.end,
  };
}

/** When one of these settings changes, users must sign in again. */
function markOfUsers(settings: { issuer: string; clientId: string; groupsClaim: string; groups: readonly string[] }) {
  const { issuer, clientId, groupsClaim, groups } = settings;
  const text = JSON.stringify([issuer, clientId, groupsClaim, groups]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

/** What the gateway must remember while a user is at the provider. */
interface Login {
  state: string;
  nonce: string;
  codeVerifier: string;
  redirectUri: string;
  returnTo: string;
}

interface Sealed extends Login {
  expiresAt: number;
}

/** Long enough for a password, a second factor and a question for consent. */
const LOGIN_MS = 10 * 60_000;
const OWNER = "oidc login";
const MAX_COOKIE_LENGTH = 4096;
/** Logins that are remembered as used; beyond it, the provider still accepts each code only once. */
const MAX_USED = 10_000;

/**
 * Logins under way. Each is kept in a cookie of the browser that began it, encrypted with the master key, so that
 * nobody can fill the gateway's memory with them and nobody else can finish one.
 */
function createLogins({ secretBox, publicUrl, clock }: Pick<OidcUses, "secretBox" | "publicUrl" | "clock">) {
  const cookies = createCookies("posthorn-login", "Lax", publicUrl);
  /** By the hash of the state, with the end of the login; oldest first. */
  const used = new Map<string, number>();

  function open(cookie: string | undefined): Sealed | undefined {
    if (cookie === undefined || cookie.length > MAX_COOKIE_LENGTH) return undefined;
    try {
      return JSON.parse(secretBox.open(Buffer.from(cookie, "base64url"), OWNER)) as Sealed;
    } catch {
      return undefined;
    }
  }

  /** False when it was used before. */
  function use({ state, expiresAt }: Sealed): boolean {
    const mark = createHash("sha256").update(state).digest("base64url");
    if (used.has(mark)) return false;
    for (const [one, end] of used) {
      if (used.size < MAX_USED && end > clock.wall()) break;
      used.delete(one);
    }
    used.set(mark, expiresAt);
    return true;
  }

  return {
    /** Returns the cookie. */
    begin(request: IncomingMessage, login: Login): string {
      const sealed: Sealed = { ...login, expiresAt: clock.wall() + LOGIN_MS };
      const value = Buffer.from(secretBox.seal(JSON.stringify(sealed), OWNER)).toString("base64url");
      return cookies.write(request, value, LOGIN_MS / 1000);
    },
    /** Uses the login up. Throws `sign_in_failed` when there is none, or when the state is of another one. */
    take(request: IncomingMessage, state: string | undefined): Login {
      const login = open(cookies.read(request));
      if (login === undefined) throw failed("This browser has not begun a sign-in, or has already finished it.");
      if (login.expiresAt <= clock.wall()) throw failed("The sign-in took longer than 10 minutes.");
      if (state !== login.state) throw failed("The provider's answer belongs to another sign-in (state).");
      if (!use(login)) throw failed("This sign-in was already finished.");
      return login;
    },
    end: cookies.clear,
  };
}

function failed(reason: string): PosthornError {
  return new PosthornError("sign_in_failed", `${reason} Begin again.`);
}

const BASE = "http://gateway.invalid";
const MAX_PATH_LENGTH = 1024;
const PAGES: ReadonlySet<string> = new Set(DASHBOARD_PAGES);
const HOME = "/";

/** Where a user goes after the sign-in: a page of the dashboard, and never another site; `/` for everything else. */
function chooseReturnPath(wanted: string | undefined): string {
  if (wanted === undefined || wanted.length > MAX_PATH_LENGTH || !wanted.startsWith("/")) return HOME;
  // Parsed as browsers do, which turn `/\evil.example` and `/.//evil.example` into addresses of another site.
  const url = parseUrl(wanted, BASE);
  if (url === undefined || url.origin !== BASE) return HOME;
  return PAGES.has(url.pathname.split("/")[1] ?? "") ? url.pathname + url.search : HOME;
}
const MAX_NAME_LENGTH = 100;

/** A name that people recognise. Only shown: the subject identifies the user. */
function readName(claims: Claims, subject: string): string {
  const names = ["preferred_username", "email", "name"].map((claim) => claims[claim]);
  const found = names.find((name): name is string => typeof name === "string" && /\S/.test(name)) ?? subject;
  // Without control characters, and without signs that turn the direction of writing.
  return found.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, MAX_NAME_LENGTH);
}

const TIMEOUT_MS = 10_000;

interface OidcSettings {
  issuer?: string | undefined;
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  groups: readonly string[];
  groupsClaim: string;
  name: string;
  scopes: readonly string[];
  sessionHours: number;
}

interface OidcUses {
  egressProxy: string | undefined;
  /** For addresses that the provider names. */
  client: Pick<HttpClient, "request">;
  clock: Clock;
  secretBox: SecretBox;
  publicUrl: (request: IncomingMessage) => string;
}

/** Undefined when no provider is configured. Nothing is sent to it before somebody signs in. */
export function openOidc(
  settings: OidcSettings,
  { egressProxy, client, clock, secretBox, publicUrl }: OidcUses,
): { signIn: OidcSignIn; userMark: string; close: () => Promise<void> } | undefined {
  const { issuer: given, clientId, clientSecret, groups, groupsClaim, name, scopes, sessionHours } = settings;
  if (given === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const issuer = new URL(given);
  const proxy = isLoopbackHost(issuer.hostname) ? undefined : egressProxy;
  const issuerClient = openHttpClient({
    guard: createAddressGuard({ allowPrivate: true }),
    allowHttp: issuer.protocol === "http:",
    clock,
    proxy: proxy === undefined ? undefined : parseEgressProxy(proxy),
  });
  const fetch = createGuardedFetch({ issuer, issuerClient, client, timeoutMs: TIMEOUT_MS });
  const signIn = createOidcSignIn({
    name,
    provider: createProvider({ issuer, clientId, clientSecret, scopes, groupsClaim, fetch, clock }),
    logins: createLogins({ secretBox, publicUrl, clock }),
    rules: groups.map(parseGroupRule),
    groupsClaim,
    sessionMs: sessionHours * 3_600_000,
    publicUrl,
    clock,
  });
  const userMark = markOfUsers({ issuer: issuer.href, clientId, groupsClaim, groups });
  return { signIn, userMark, close: () => issuerClient.close() };
}
