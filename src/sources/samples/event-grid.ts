import type { Sample, SampleFacts } from "./sample.ts";

const told = (eventType: string) => {
  return ({ at, id }: SampleFacts) => ({
    body: [
      {
        id,
        topic: "/subscriptions/1/resourceGroups/a/providers/Microsoft.Storage/storageAccounts/b",
        subject: "/blobServices/default/containers/orders/blobs/1042.json",
        eventType,
        eventTime: new Date(at).toISOString(),
        data: { api: "PutBlob", url: "https://b.blob.core.windows.net/orders/1042.json" },
        dataVersion: "",
        metadataVersion: "1",
      },
    ],
  });
};

export const eventGrid: Sample = {
  kind: "event-grid",
  needsSecret: true,
  events: {
    "blob-created": told("Microsoft.Storage.BlobCreated"),
    "blob-deleted": told("Microsoft.Storage.BlobDeleted"),
  },
  sign: (_request, { secret }) => ({ query: `code=${encodeURIComponent(secret)}` }),
};
