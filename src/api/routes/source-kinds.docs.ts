import { Type } from "typebox";
import { EXAMPLE } from "../openapi/examples.ts";
import {
  Anything,
  closed,
  count,
  named,
  nullable,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { ConnectionState } from "./operation.docs.ts";

export const SourceKind = named(
  "SourceKind",
  closed({
    name: text("github", "For `kind` of a source"),
    needs_secret: Type.Boolean({ description: "A source of it needs at least one secret", examples: [true] }),
    pulled: Type.Boolean({ description: "It takes messages from a queue of a broker", examples: [false] }),
    has_manifest: Type.Boolean({ description: "A source of it may have a `manifest`", examples: [false] }),
    options: nullable(Type.With(Anything, { description: "A JSON Schema of `options`; null: there are none" })),
  }),
);

export const SourceQueue = named(
  "SourceQueue",
  closed({
    source: text(EXAMPLE.queueSource),
    connection: closed({ kind: text("amqp"), name: text("default"), state: ConnectionState }),
    depth: nullable(count(3, "Messages that wait in it; null where the broker does not tell")),
    trouble: textOrNull("Why its messages cannot be taken or parked, and what to do"),
  }),
);

export const SOURCE_KIND_DOCS: AreaDocs = {
  tag: "Kinds of sources",
  description: "What may send webhooks or hold messages for a source",
  operations: {
    "GET /api/v1/source-kinds": {
      answer: {
        description: "Those of this gateway, with what plugins bring",
        schema: closed({ data: Type.Array(SourceKind) }),
        example: {
          data: [{ name: "github", needs_secret: true, pulled: false, has_manifest: false, options: null }],
        },
      },
    },
    "GET /api/v1/source-queues": {
      answer: {
        description: "One for each active source that takes from a queue",
        schema: closed({ data: Type.Array(SourceQueue) }),
        example: { data: [] },
      },
    },
  },
};
