import { createPrivateKey, sign as signBytes } from "node:crypto";
import { unixSeconds, type Sample } from "./sample.ts";

export const discord: Sample = {
  kind: "discord",
  needsSecret: true,
  keyHint:
    "Discord signs with a private key. Give one of your own, whose public key the source has as its secret: " +
    "`openssl genpkey -algorithm ed25519 -out key.pem`, then --secret @key.pem",
  events: {
    application_authorized: ({ at, id }) => ({
      body: {
        version: 1,
        application_id: "1234560123453231555",
        type: 1,
        event: {
          type: "APPLICATION_AUTHORIZED",
          timestamp: new Date(at).toISOString(),
          data: { integration_type: 1, scopes: ["applications.commands"], user: { id: "53908232506183680" } },
        },
        sample_id: id,
      },
    }),
  },
  sign({ at, body }, { secret }) {
    const time = unixSeconds(at);
    const signature = signBytes(null, Buffer.concat([Buffer.from(time), body]), createPrivateKey(secret));
    return { headers: { "x-signature-timestamp": time, "x-signature-ed25519": signature.toString("hex") } };
  },
};
