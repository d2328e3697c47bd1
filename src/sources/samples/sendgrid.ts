import { createPrivateKey, sign as signBytes } from "node:crypto";
import { unixSeconds, type Sample, type SampleFacts } from "./sample.ts";

const told = (event: string) => {
  return ({ at, id }: SampleFacts) => ({
    body: [{ email: "anna@example.com", event, sg_event_id: id, timestamp: Math.floor(at / 1000) }],
  });
};

export const sendgrid: Sample = {
  kind: "sendgrid",
  needsSecret: true,
  keyHint:
    "SendGrid signs with a private key. Give one of your own, whose public key the source has as its secret: " +
    "`openssl ecparam -name prime256v1 -genkey -noout -out key.pem`, then --secret @key.pem",
  events: { delivered: told("delivered"), bounce: told("bounce"), open: told("open") },
  sign({ at, body }, { secret }) {
    const time = unixSeconds(at);
    const signature = signBytes("sha256", Buffer.concat([Buffer.from(time), body]), createPrivateKey(secret));
    return {
      headers: {
        "x-twilio-email-event-webhook-timestamp": time,
        "x-twilio-email-event-webhook-signature": signature.toString("base64"),
      },
    };
  },
};
