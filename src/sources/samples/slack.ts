import { hmacOf, unixSeconds, type Sample, type SampleFacts } from "./sample.ts";

const told = (event: object) => {
  return ({ at, id }: SampleFacts) => ({
    body: {
      type: "event_callback",
      team_id: "T061EG9R6",
      event_id: `Ev${id.replaceAll("-", "").slice(0, 10).toUpperCase()}`,
      event_time: Math.floor(at / 1000),
      event,
    },
  });
};

export const slack: Sample = {
  kind: "slack",
  needsSecret: true,
  events: {
    app_mention: told({ type: "app_mention", user: "U061F7AUR", text: "<@U0LAN0Z89> is it everything?" }),
    message: told({ type: "message", channel: "C123ABC456", user: "U123ABC456", text: "Hello" }),
  },
  sign({ at, body }, { secret }) {
    const time = unixSeconds(at);
    const signature = hmacOf("sha256", secret, [`v0:${time}:`, body], "hex");
    return { headers: { "x-slack-request-timestamp": time, "x-slack-signature": `v0=${signature}` } };
  },
};
