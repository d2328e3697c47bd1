import { hmacOf, type Sample, type SampleFacts } from "./sample.ts";

const REPOSITORY = { id: 1296269, full_name: "octo/hello", private: false };
const SENDER = { login: "octocat", id: 1 };

const told = (event: string, body: object) => {
  return ({ id }: SampleFacts) => ({
    headers: { "x-github-event": event, "x-github-delivery": id, "user-agent": "GitHub-Hookshot/sample" },
    body: { ...body, repository: REPOSITORY, sender: SENDER },
  });
};

export const github: Sample = {
  kind: "github",
  needsSecret: true,
  events: {
    ping: told("ping", { zen: "Design for failure.", hook_id: 30 }),
    push: told("push", {
      ref: "refs/heads/main",
      commits: [{ id: "6dcb09b5b57875f334f61aebed695e2e4193db5e", message: "Fix the door" }],
    }),
    "pull_request.opened": told("pull_request", {
      action: "opened",
      number: 2,
      pull_request: { number: 2, title: "Fix the door", state: "open" },
    }),
    "issues.opened": told("issues", { action: "opened", issue: { number: 3, title: "The door is broken" } }),
  },
  sign: ({ body }, { secret }) => ({
    headers: { "x-hub-signature-256": `sha256=${hmacOf("sha256", secret, [body], "hex")}` },
  }),
};
