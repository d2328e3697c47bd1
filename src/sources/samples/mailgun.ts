import { randomBytes } from "node:crypto";
import { hmacOf, unixSeconds, withMembers, type Sample, type SampleFacts } from "./sample.ts";

const told = (event: string) => {
  return ({ at, id }: SampleFacts) => ({
    body: { "event-data": { event, timestamp: at / 1000, id, recipient: "anna@example.com" } },
  });
};

export const mailgun: Sample = {
  kind: "mailgun",
  needsSecret: true,
  events: { delivered: told("delivered"), opened: told("opened"), failed: told("failed") },
  /** The signature stands in the body, and does not cover it. */
  sign({ at, body }, { secret }) {
    const timestamp = unixSeconds(at);
    const token = randomBytes(25).toString("hex");
    const signature = hmacOf("sha256", secret, [timestamp, token], "hex");
    return { body: withMembers(body, (document) => ({ signature: { timestamp, token, signature }, ...document })) };
  },
};
