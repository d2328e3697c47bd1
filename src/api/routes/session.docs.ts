import { Type } from "typebox";
import { APPEARANCES } from "../../model/portal-theme.ts";
import { SCOPES } from "../../model/scopes.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import { Time, closed, named, nullable, oneOf, text, textOrNull, type AreaDocs } from "../openapi/operation-docs.ts";

export const Session = named(
  "Session",
  closed({
    key_id: nullable(
      text(
        EXAMPLE.key,
        "The id of the API key that the session stands for; `oidc:` and the subject for a user who signed in with OpenID " +
          "Connect; null for a portal link",
      ),
    ),
    scopes: Type.Array(oneOf(SCOPES), { examples: [["admin"]] }),
    tenant_id: textOrNull("The tenant that the key is bound to; null for all tenants"),
    version: text("0.1.0", "The version of the gateway"),
    public_url: text("https://hooks.example.com", "The address at which senders reach the gateway"),
    expires_at: nullable(Time),
    destination_kinds: Type.Array(Type.String(), {
      description: "The kinds of destinations that subscriptions of the caller can have",
      examples: [["http"]],
    }),
    user: nullable(
      closed(
        { name: text("ada@example.com", "From the provider; only for people") },
        "The user who signed in with OpenID Connect; null for keys",
      ),
    ),
    portal: nullable(
      closed(
        {
          name: text("Acme webhooks"),
          accent: textOrNull("A colour, `#rrggbb`"),
          appearance: oneOf(APPEARANCES, "`light` and `dark` are fixed; with `system` the visitor chooses"),
        },
        "The look of the partner page; null for everybody except partners",
      ),
    ),
  }),
);

const ORIGIN = { Origin: "Must be the gateway's own address: requests from other sites are rejected" };
const COOKIE =
  "`__Host-posthorn` over https, `posthorn-PORT` over http on the gateway's own machine; HttpOnly, SameSite=Strict";

export const SESSION_DOCS: AreaDocs = {
  tag: "Session",
  description: "Sessions of the dashboard",
  operations: {
    "POST /api/v1/session": {
      description:
        "Exchanges a key, or the token of a one-time sign-in link, for a cookie that stands for the key. When the " +
        "key " +
        "expires or is revoked, the session ends. Requests with the cookie that change something must come from the " +
        "gateway's own pages. Programs need no session: they send the key itself.",
      request: { key: EXAMPLE.keyInClear },
      headers: ORIGIN,
      answer: { status: 201, description: "Signed in", schema: Session, headers: { "Set-Cookie": COOKIE } },
      errors: ["unauthorized", "forbidden", "other_origin", "insecure_sign_in", "too_many_requests"],
    },
    "GET /api/v1/session": {
      answer: { description: "The caller. A session is renewed after half of its lifetime", schema: Session },
    },
    "DELETE /api/v1/session": {
      headers: ORIGIN,
      answer: { status: 204, description: "Signed out; the cookie is removed, and worth nothing from now on" },
      errors: ["other_origin"],
    },
    "DELETE /api/v1/sessions/:key_id": {
      description:
        "For a user who has left, or a cookie that was lost. Ends all sessions of a user or key, and the portal links " +
        "that they made; a live stream within 15 seconds. They can sign in again: to keep them out, remove their group " +
        "or revoke the key. Keys that a user made stay valid.",
      params: { key_id: EXAMPLE.signedOutUser },
      answer: { status: 204, description: "Ended" },
    },
  },
};
