import { hmacOf, type Sample, type SampleFacts } from "../../src/sources/samples/sample.ts";

const SHEET_ID = 4_509_506_114_742_148;

const told = (objectType: string, eventType: string) => {
  return ({ at, id }: SampleFacts) => {
    const timestamp = new Date(at).toISOString();
    return {
      body: {
        nonce: id,
        timestamp,
        webhookId: 4_503_604_829_677_444,
        scope: "sheet",
        scopeObjectId: SHEET_ID,
        events: [{ objectType, eventType, id: 7_129_509_179_746_180, userId: 9_007_194_052_434_043, timestamp }],
      },
    };
  };
};

export const SMARTSHEET_SAMPLE: Sample = {
  kind: "smartsheet",
  needsSecret: true,
  events: {
    "row.created": told("row", "created"),
    "row.updated": told("row", "updated"),
    "row.deleted": told("row", "deleted"),
  },
  sign: ({ body }, { secret }) => ({
    headers: { "smartsheet-hmac-sha256": hmacOf("sha256", secret, [body], "hex") },
  }),
};
