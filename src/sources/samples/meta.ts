import { hmacOf, type Sample, type SampleFacts } from "./sample.ts";

const told = (object: string, field: string) => {
  return ({ at, id }: SampleFacts) => ({
    body: {
      object,
      entry: [{ id: "8856996819413533", time: Math.floor(at / 1000), changes: [{ field, value: { sample_id: id } }] }],
    },
  });
};

export const meta: Sample = {
  kind: "meta",
  needsSecret: true,
  events: { whatsapp: told("whatsapp_business_account", "messages"), page: told("page", "feed") },
  sign: ({ body }, { secret }) => ({
    headers: { "x-hub-signature-256": `sha256=${hmacOf("sha256", secret, [body], "hex")}` },
  }),
};
