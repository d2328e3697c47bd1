import { hmacOf, unixSeconds, type Sample, type SampleFacts } from "./sample.ts";

const told = (event: string) => {
  return ({ at, id }: SampleFacts) => ({
    body: { event, event_ts: at, payload: { account_id: "abc", object: { uuid: id, topic: "Stand-up" } } },
  });
};

export const zoom: Sample = {
  kind: "zoom",
  needsSecret: true,
  events: { "meeting.started": told("meeting.started"), "meeting.ended": told("meeting.ended") },
  sign({ at, body }, { secret }) {
    const time = unixSeconds(at);
    const signature = hmacOf("sha256", secret, [`v0:${time}:`, body], "hex");
    return { headers: { "x-zm-request-timestamp": time, "x-zm-signature": `v0=${signature}` } };
  },
};
