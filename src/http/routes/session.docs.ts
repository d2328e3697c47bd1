import { Type } from "typebox";
import { SCOPES } from "../../registry/api-key.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import { Time, closed, named, nullable, oneOf, text, textOrNull, type AreaDocs } from "../openapi/operation-docs.ts";

export const Session = named(
  "Session",
  closed({
    key_id: text(EXAMPLE.key, "The key that it stands for"),
    scopes: Type.Array(oneOf(SCOPES), { examples: [["admin"]] }),
    tenant_id: textOrNull("The tenant that it is bound to; null for all of them"),
    version: text("0.1.0", "Of the gateway"),
    public_url: text("https://hooks.example.com", "Where senders reach the gateway"),
    expires_at: nullable(Time),
    portal: nullable(
      closed(
        { name: text("Acme webhooks"), accent: textOrNull("A colour, `#rrggbb`") },
        "How the page for partners looks; null for everybody else",
      ),
    ),
  }),
);

const ORIGIN = { Origin: "The gateway's own address: a request from another site is refused" };
const COOKIE =
  "`__Host-posthorn` over https, `posthorn-PORT` over http on the gateway's own machine; HttpOnly, SameSite=Strict";

export const SESSION_DOCS: AreaDocs = {
  tag: "Session",
  description: "Who is signed in to the dashboard",
  operations: {
    "POST /api/v1/session": {
      description:
        "Exchanges a key, or the token of a link that signs in once, for a cookie that stands for the key: when the key " +
        "expires or is revoked, the session is over. Requests with the cookie that change something must come from the " +
        "gateway's own pages. Programs send the key itself and need no session.",
      request: { key: EXAMPLE.keyInClear },
      headers: ORIGIN,
      answer: { status: 201, description: "Signed in", schema: Session, headers: { "Set-Cookie": COOKIE } },
      errors: ["unauthorized", "forbidden", "other_origin", "insecure_sign_in", "too_many_requests"],
    },
    "GET /api/v1/session": {
      answer: { description: "Who calls; a session that is half over is renewed", schema: Session },
    },
    "DELETE /api/v1/session": {
      headers: ORIGIN,
      answer: { status: 204, description: "Signed out: the cookie is taken back" },
      errors: ["other_origin"],
    },
  },
};
