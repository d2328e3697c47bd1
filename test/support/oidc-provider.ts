// A real OpenID Connect provider (oidc-provider) on loopback, with its own forms for login and consent. What it answers
// can be changed on the way out, as somebody who forges tokens would.
import { createHmac, createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider, type KoaContextWithOIDC } from "oidc-provider";

export interface OidcProvider {
  readonly issuer: string;
  /** The settings of a gateway that signs in with it, by their environment names without `POSTHORN_`. */
  readonly settings: Readonly<Record<string, string>>;
  /** From then on it knows a gateway at each of these addresses. */
  know(...gatewayUrls: string[]): void;
  /** Changes the claims of the next ID tokens, and who signs them. */
  forge(forgery: Forgery): void;
  /** Changes what it says of itself. */
  pretend(metadata: Readonly<Record<string, unknown>>): void;
  /** The paths that it was asked for. */
  readonly asked: readonly string[];
  /** Also if it is closed already. */
  close(): Promise<void>;
}

export interface Forgery {
  claims?: (claims: Record<string, unknown>) => Record<string, unknown>;
  /** `own`: the provider's own key, so that everything else about the token is right. */
  signedBy?: "own" | "stranger" | "nobody" | "client secret";
}

/** Who can log in, with any password. */
const GROUPS: Readonly<Record<string, unknown>> = {
  ada: ["everybody", "ops"],
  rob: ["support"],
  tina: ["acme-team"],
  eve: ["guests", "<b>curious</b>"],
  nemo: undefined,
};

const CALLBACK = "/api/v1/sign-in/oidc/callback";
const CLIENT = { client_id: "posthorn", client_secret: "a-client-secret-of-the-tests" };

export async function openOidcProvider(): Promise<OidcProvider> {
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const asked: string[] = [];
  let forgery: Forgery = {};
  let metadata: Readonly<Record<string, unknown>> = {};
  let listener: RequestListener = (_, response) => response.writeHead(503).end();
  const server = createServer((request, response) => {
    asked.push(request.url?.split("?", 1)[0] ?? "");
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function change(context: KoaContextWithOIDC): void {
    const { body, path } = context as unknown as { body: Record<string, unknown> | undefined; path: string };
    if (body === undefined || body === null) return;
    if (path === "/.well-known/openid-configuration") context.body = { ...body, ...metadata };
    if (path === "/token" && typeof body["id_token"] === "string") {
      context.body = { ...body, id_token: forge(body["id_token"], forgery, own.privateKey, stranger.privateKey) };
    }
  }

  return {
    issuer,
    settings: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.client_id,
      OIDC_CLIENT_SECRET: CLIENT.client_secret,
      OIDC_GROUPS: "ops=admin,support=read,acme-team=admin@acme",
      OIDC_SCOPES: "openid,profile,groups",
      OIDC_NAME: "Acme SSO",
    },
    know(...gatewayUrls) {
      const provider = new Provider(issuer, {
        clients: [{ ...CLIENT, redirect_uris: gatewayUrls.map((url) => url + CALLBACK) }],
        jwks: { keys: [{ ...own.privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "own" }] },
        cookies: { keys: ["of the tests"] },
        claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
        ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
        pkce: { required: () => true },
        findAccount: (_, accountId) => ({
          accountId,
          claims: () => ({
            sub: accountId,
            preferred_username: `${accountId}@acme.example`,
            groups: GROUPS[accountId],
          }),
        }),
      });
      provider.use(async (context, next) => {
        await next();
        change(context as unknown as KoaContextWithOIDC);
      });
      const answer = provider.callback();
      listener = (request, response) => void answer(request, response);
    },
    forge: (given) => (forgery = given),
    pretend: (given) => (metadata = given),
    asked,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function forge(token: string, { claims, signedBy }: Forgery, own: KeyObject, stranger: KeyObject): string {
  if (claims === undefined && signedBy === undefined) return token;
  const [head = "", body = ""] = token.split(".");
  const header = JSON.parse(decode(head)) as Record<string, unknown>;
  const payload = JSON.parse(decode(body)) as Record<string, unknown>;
  const alg = signedBy === "nobody" ? "none" : signedBy === "client secret" ? "HS256" : header["alg"];
  const signed = `${encode({ ...header, alg })}.${encode(claims?.(payload) ?? payload)}`;
  if (signedBy === "nobody") return `${signed}.`;
  if (signedBy === "client secret") {
    return `${signed}.${createHmac("sha256", CLIENT.client_secret).update(signed).digest("base64url")}`;
  }
  const key = signedBy === "stranger" ? stranger : own;
  return `${signed}.${createSign("RSA-SHA256").update(signed).sign(key, "base64url")}`;
}

function decode(part: string): string {
  return Buffer.from(part, "base64url").toString();
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
