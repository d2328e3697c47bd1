import { hmacOf, wholeSeconds, type Sample, type SampleFacts } from "./sample.ts";

const told = (type: string) => {
  return ({ at, id }: SampleFacts) => ({
    headers: { "x-zendesk-webhook-invocation-id": id },
    body: { id, type: `zen:event-type:${type}`, time: wholeSeconds(at), detail: { id: "35", subject: "The door" } },
  });
};

export const zendesk: Sample = {
  kind: "zendesk",
  needsSecret: true,
  events: { "ticket.created": told("ticket.created"), "ticket.status_changed": told("ticket.status_changed") },
  sign({ at, body }, { secret }) {
    const time = wholeSeconds(at);
    return {
      headers: {
        "x-zendesk-webhook-signature-timestamp": time,
        "x-zendesk-webhook-signature": hmacOf("sha256", secret, [time, body], "base64"),
      },
    };
  },
};
