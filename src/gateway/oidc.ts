import type { IncomingMessage } from "node:http";
import { createAddressGuard } from "../destinations/wire/address-guard.ts";
import { openHttpClient } from "../destinations/wire/http-client.ts";
import { parseEgressProxy } from "../destinations/wire/proxy-tunnel.ts";
import { isLoopbackHost } from "../model/addresses.ts";
import { createGuardedFetch } from "../api/session/oidc-provider.ts";
import { createLogins } from "../api/session/oidc-sign-in.ts";
import { createOidcSignIn, markOfUsers, type OidcSignIn } from "../api/session/oidc-sign-in.ts";
import { createProvider } from "../api/session/oidc-provider.ts";
import { parseGroupRule } from "../model/scopes.ts";
import type { Start } from "./options.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Storage } from "./storage.ts";
import type { Tenancy } from "./tenancy.ts";

const TIMEOUT_MS = 10_000;

/** Undefined when no provider is configured. Nothing is sent to it before somebody signs in. */
export function openOidc(
  { config, parts }: Start,
  { clock, secretBox, client }: Storage & Tenancy & Outgoing,
  publicUrl: (request: IncomingMessage) => string,
): { signIn: OidcSignIn; userMark: string } | undefined {
  const { issuer: given, clientId, clientSecret, groups, groupsClaim, name, scopes, sessionHours } = config.oidc;
  if (given === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const issuer = new URL(given);
  const proxy = isLoopbackHost(issuer.hostname) ? undefined : config.egressProxy;
  const issuerClient = openHttpClient({
    guard: createAddressGuard({ allowPrivate: true }),
    allowHttp: issuer.protocol === "http:",
    clock,
    proxy: proxy === undefined ? undefined : parseEgressProxy(proxy),
  });
  parts.add(() => issuerClient.close());
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
  return { signIn, userMark: markOfUsers({ issuer: issuer.href, clientId, groupsClaim, groups }) };
}
