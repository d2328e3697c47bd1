import { withMembers, type Sample, type SampleFacts } from "./sample.ts";

const told = (changeType: string) => {
  return ({ id }: SampleFacts) => ({
    body: {
      value: [
        {
          subscriptionId: "7f105c7d-2dc5-4530-97cd-4e7ae6534c07",
          changeType,
          resource: "Users/1/Messages/2",
          resourceData: { "@odata.type": "#Microsoft.Graph.Message", "@odata.etag": `W/"${id}"`, id: "2" },
        },
      ],
    },
  });
};

export const microsoftGraph: Sample = {
  kind: "microsoft-graph",
  needsSecret: true,
  events: { "message.created": told("created"), "message.updated": told("updated") },
  /** The secret stands in the body, once for each notification. */
  sign: ({ body }, { secret }) => ({
    body: withMembers(body, ({ value, ...document }) => ({
      ...document,
      value: Array.isArray(value) ? value.map((one: object) => ({ ...one, clientState: secret })) : value,
    })),
  }),
};
