import type { Sample } from "./sample.ts";

export const awsSns: Sample = {
  kind: "aws-sns",
  needsSecret: false,
  events: {},
  unsignable:
    "Amazon signs with a certificate of its own. Publish a message to the topic instead: " +
    "`aws sns publish --topic-arn ARN --message hello`.",
};
