import { closed, named, nullable, text, type AreaDocs } from "../openapi/operation-docs.ts";

export const SignInWays = named(
  "SignInWays",
  closed({
    oidc: nullable(
      closed(
        {
          name: text("Acme SSO", "The name of the provider, for the button"),
          url: text("/api/v1/sign-in/oidc", "Where a browser begins the sign-in"),
        },
        "Sign-in with OpenID Connect; null if it is not configured",
      ),
    ),
  }),
);

const TO_SIGN_IN = "if OpenID Connect is not configured, to the sign-in page";

export const SIGN_IN_DOCS: AreaDocs = {
  tag: "Sign-in",
  description: "Ways to sign in to the dashboard",
  operations: {
    "GET /api/v1/sign-in": {
      answer: { description: "The ways to sign in, beside an API key", schema: SignInWays, example: { oidc: null } },
    },
    "GET /api/v1/sign-in/oidc": {
      description:
        "For browsers. Sets a cookie for this sign-in, which works once and within 10 minutes, and redirects to the " +
        "provider's page.",
      query: { return_to: "/events" },
      answer: {
        status: 303,
        description: `To the provider's page; ${TO_SIGN_IN}`,
        headers: { Location: "The address" },
      },
      errors: ["insecure_sign_in", "sign_in_provider_failed"],
    },
    "GET /api/v1/sign-in/oidc/callback": {
      description:
        "The redirect URI of the gateway at the provider. Verifies the provider's answer, finds the rights of the user by " +
        "their groups (`oidc.groups`), and starts a session. A browser gets errors as a page.",
      answer: {
        status: 303,
        description: `To the page that the user wanted, with a session cookie; ${TO_SIGN_IN}`,
        headers: { Location: "The address" },
      },
      errors: [
        "sign_in_failed",
        "group_not_allowed",
        "insecure_sign_in",
        "too_many_requests",
        "sign_in_provider_failed",
      ],
    },
  },
};
