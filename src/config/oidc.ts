import { Type } from "typebox";
import { findFault } from "../model/errors.ts";
import { isLoopbackHost, parseUrl } from "../model/addresses.ts";
import { GROUP_RULE_FORM, parseGroupRule } from "../model/scopes.ts";
import { describeValue, flag, number, settingText, withVariables } from "./setting-schema.ts";

/** Sign-in to the dashboard with an OpenID Connect provider. */
export const Oidc = Type.Object(
  withVariables("POSTHORN_OIDC_", {
    issuer: settingText({
      maxLength: 2048,
      description:
        "Issuer URL of an OpenID Connect provider, such as `https://login.example.com/realms/ops`: users can sign in to " +
        "the dashboard with it",
    }),
    client_id: settingText({
      maxLength: 512,
      description:
        "Client id of the gateway at the provider; register the redirect URI `PUBLIC_URL/api/v1/sign-in/oidc/callback` there",
    }),
    client_secret: settingText({
      secret: true,
      maxLength: 1024,
      description: "Client secret of the gateway at the provider",
    }),
    groups: Type.Array(Type.String({ minLength: 3, maxLength: 500, hint: GROUP_RULE_FORM }), {
      default: [],
      maxItems: 200,
      description:
        "Rights of groups: `GROUP=SCOPES`, or `GROUP=SCOPES@TENANT` for one tenant, such as `ops=admin`, " +
        "`support=read` or `acme-team=read@acme`. The first entry that names a group of the user decides; other users " +
        "are rejected",
    }),
    groups_claim: Type.String({
      default: "groups",
      minLength: 1,
      maxLength: 200,
      description: "Claim with the groups of a user; with dots for a nested one, such as `realm_access.roles`",
    }),
    scopes: Type.Array(
      Type.String({ pattern: "^[\\x21\\x23-\\x5b\\x5d-\\x7e]{1,200}$", hint: "give names without spaces" }),
      {
        default: ["openid", "profile", "email"],
        maxItems: 50,
        description:
          "Scopes that the gateway asks the provider for; some providers send groups only with a scope `groups`",
      },
    ),
    name: Type.String({
      default: "OIDC",
      minLength: 1,
      maxLength: 60,
      description: "Name of the provider on the button: `Sign in with NAME`",
    }),
    session_hours: number(
      12,
      { from: 0.1, to: 168 },
      "Hours after which a user must sign in again, also while the dashboard is used",
    ),
    allow_http: flag(false, "Whether the issuer may use plain http on another machine (testing only)"),
  }),
  { additionalProperties: false, default: {} },
);

type Complain = (path: string, message: string) => void;

export function checkOidc(tree: Record<string, unknown>, complain: Complain): void {
  const oidc = tree["oidc"] as Record<string, unknown> | undefined;
  if (oidc === undefined) return;
  const needed = ["issuer", "client_id", "client_secret"];
  const given = needed.filter((name) => oidc[name] !== undefined);
  const missing = needed.filter((name) => oidc[name] === undefined).map((name) => `oidc.${name}`);
  if (given.length > 0 && missing.length > 0) complain(`oidc.${given[0]}`, `also needs ${missing.join(" and ")}`);
  checkIssuer(oidc, complain);
  checkGroups(oidc, complain);
  const { scopes } = oidc;
  if (Array.isArray(scopes) && !scopes.includes("openid")) complain("oidc.scopes", "must contain openid");
}

function checkIssuer({ issuer, allow_http: allowsHttp }: Record<string, unknown>, complain: Complain): void {
  if (typeof issuer !== "string") return;
  const url = parseUrl(issuer);
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    complain("oidc.issuer", `${describeValue(issuer)} is not a URL; write for example https://login.example.com`);
  } else if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    complain("oidc.issuer", "must not have a user, a password, a query or a fragment");
  } else if (url.protocol === "http:" && allowsHttp !== true && !isLoopbackHost(url.hostname)) {
    complain("oidc.issuer", "must begin with https://; oidc.allow_http allows http for tests");
  }
}

function checkGroups({ issuer, groups }: Record<string, unknown>, complain: Complain): void {
  if (!Array.isArray(groups)) return;
  for (const text of groups) {
    const fault = typeof text === "string" ? findFault(() => parseGroupRule(text)) : undefined;
    if (fault !== undefined) complain("oidc.groups", fault.message);
  }
  if (issuer !== undefined && groups.length === 0) {
    complain("oidc.issuer", `also needs oidc.groups, because nobody could sign in; ${GROUP_RULE_FORM}`);
  }
}
