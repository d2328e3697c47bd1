import { verify as verifyEd25519, createPublicKey } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { verifyPlain } from "./verify-signature.ts";

/** What a destination received. */
export interface Received {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

/** Whether the official libraries, both of them, take a delivery for genuine. They read the time from the system. */
export function officialsAccept(secret: string, received: Received): boolean {
  const verdicts = [new StandardWebhook(secret), new SvixWebhook(secret)].map((webhook) => {
    try {
      webhook.verify(received.body, pick(received));
      return true;
    } catch {
      return false;
    }
  });
  if (verdicts[0] !== verdicts[1]) throw new Error("the official libraries disagree");
  return verdicts[0] === true;
}

/** The seed's own verifier: which of the secrets made the header. */
export function findSeedSecret<Name extends string>(
  secrets: Readonly<Record<Name, string>>,
  received: Received,
  header = "x-webhook-signature",
): Name | undefined {
  const names = Object.keys(secrets) as Name[];
  return names.find((name) => verifyPlain(secrets[name], received.body) === received.headers[header]);
}

/** With nothing but the public key, as a receiver has it. */
export function acceptsEd25519(publicKey: string, received: Received): boolean {
  const headers = pick(received);
  const [, signature] = /(?:^| )v1a,(\S+)/.exec(headers["webhook-signature"]) ?? [];
  if (signature === undefined) return false;
  const raw = Buffer.from(publicKey.replace(/^whpk_/, ""), "base64").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw }, format: "jwk" });
  const signed = Buffer.concat([
    Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`),
    received.body,
  ]);
  return verifyEd25519(null, signed, key, Buffer.from(signature, "base64"));
}

function pick({ headers }: Received) {
  return {
    "webhook-id": String(headers["webhook-id"]),
    "webhook-timestamp": String(headers["webhook-timestamp"]),
    "webhook-signature": String(headers["webhook-signature"]),
  };
}
