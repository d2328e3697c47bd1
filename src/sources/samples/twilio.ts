import { createHash } from "node:crypto";
import { hmacOf, type Sample, type SampleFacts } from "./sample.ts";

const FORM = "application/x-www-form-urlencoded";

const told = (fields: Readonly<Record<string, string>>) => {
  return ({ id }: SampleFacts) => ({
    headers: { "content-type": FORM, "i-twilio-idempotency-token": id },
    body: Buffer.from(new URLSearchParams({ ...fields, To: "+15005550006", From: "+14155552671" }).toString()),
  });
};

export const twilio: Sample = {
  kind: "twilio",
  needsSecret: true,
  events: {
    "message.received": told({ SmsStatus: "received", MessageSid: "SM1", Body: "Hello" }),
    "message.delivered": told({ MessageStatus: "delivered", MessageSid: "SM1" }),
    "call.completed": told({ CallStatus: "completed", CallSid: "CA1" }),
  },
  sign({ url, headers, body }, { secret }) {
    if (headers["content-type"]?.startsWith(FORM) === true) {
      return { headers: { "x-twilio-signature": hmacOf("sha1", secret, [url, signedFields(body)], "base64") } };
    }
    // What is no form is covered by its hash in the URL.
    const query = `bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
    const signed = `${url}${url.includes("?") ? "&" : "?"}${query}`;
    return { query, headers: { "x-twilio-signature": hmacOf("sha1", secret, [signed], "base64") } };
  },
};

function signedFields(body: Buffer): string {
  const fields = new URLSearchParams(body.toString("utf8"));
  const names = [...new Set(fields.keys())].sort();
  return names.flatMap((name) => [...new Set(fields.getAll(name))].sort().map((value) => name + value)).join("");
}
