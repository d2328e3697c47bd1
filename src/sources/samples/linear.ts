import { hmacOf, type Sample, type SampleFacts } from "./sample.ts";

const told = (type: string, action: string, data: object) => {
  return ({ at, id }: SampleFacts) => ({
    headers: { "linear-delivery": id, "linear-event": type },
    body: { action, type, createdAt: new Date(at).toISOString(), data, webhookTimestamp: at },
  });
};

export const linear: Sample = {
  kind: "linear",
  needsSecret: true,
  events: {
    "Issue.create": told("Issue", "create", { id: "2174add1-f7c8", title: "The door is broken" }),
    "Comment.create": told("Comment", "create", { id: "9aea5b1c-01fe", body: "Fixed" }),
  },
  sign: ({ body }, { secret }) => ({ headers: { "linear-signature": hmacOf("sha256", secret, [body], "hex") } }),
};
