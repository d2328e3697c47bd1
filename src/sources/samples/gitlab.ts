import { signStandard } from "./standard-webhooks.ts";
import type { Sample, SampleFacts } from "./sample.ts";

const told = (hook: string, body: object) => {
  return ({ id }: SampleFacts) => ({
    headers: { "x-gitlab-event": `${hook} Hook`, "idempotency-key": id },
    body,
  });
};

export const gitlab: Sample = {
  kind: "gitlab",
  needsSecret: true,
  events: {
    push: told("Push", { object_kind: "push", event_name: "push", ref: "refs/heads/main", project_id: 15 }),
    "merge_request.open": told("Merge Request", {
      object_kind: "merge_request",
      object_attributes: { iid: 1, action: "open", title: "Fix the door" },
    }),
  },
  /** A secret token is sent as it is; a signing token signs. */
  sign: (request, { secret }) => ({
    headers: secret.startsWith("whsec_") ? signStandard(request, secret) : { "x-gitlab-token": secret },
  }),
};
