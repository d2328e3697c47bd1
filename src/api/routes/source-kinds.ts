import type { FastifyInstance } from "fastify";
import { Type } from "typebox";
import type { PulledFacts } from "../../intake/messages/pullers.ts";
import type { SourceKindRules } from "../../model/source.ts";
import type { NamedConnection } from "../../queues/connections.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { presentAs } from "../present.ts";
import { ConnectionState } from "./operation.ts";
import type { Parts } from "./parts.ts";
import { OPERATOR_READ, READ, routesOf } from "./route.ts";

const SourceKind = Doc.shape("SourceKind", () => ({
  name: Doc.text("github", "For `kind` of a source"),
  needs_secret: Type.Boolean({ description: "A source of it needs at least one secret", examples: [true] }),
  pulled: Type.Boolean({ description: "It takes messages from a queue of a broker", examples: [false] }),
  has_manifest: Type.Boolean({ description: "A source of it may have a `manifest`", examples: [false] }),
  options: Doc.nullable(Type.With(Doc.Anything, { description: "A JSON Schema of `options`; null: there are none" })),
}));

const SourceQueue = Doc.shape("SourceQueue", () => ({
  source: Doc.text(EXAMPLE.queueSource),
  connection: Doc.closed({ kind: Doc.text("amqp"), name: Doc.text("default"), state: ConnectionState }),
  depth: Doc.nullable(Doc.count(3, "Messages that wait in it; null where the broker does not tell")),
  trouble: Doc.textOrNull("Why its messages cannot be taken or parked, and what to do"),
}));

/** What somebody needs to know in order to declare a source, and how the queues are that sources take from. */
export function addSourceKindRoutes(app: FastifyInstance, { sourceKinds, pullers, connections }: Parts): void {
  const route = routesOf(app, "Kinds of sources");

  route("GET /api/v1/source-kinds", READ, "List the kinds of sources", {
    answer: () =>
      Doc.shows(Doc.closed({ data: Type.Array(SourceKind) }), "Those of this gateway, with what plugins bring", {
        data: [{ name: "github", needs_secret: true, pulled: false, has_manifest: false, options: null }],
      }),
    handle: () => ({ data: [...sourceKinds.values()].map(presentKind) }),
  });

  // Queues of a broker belong to the gateway: messages of several tenants may lie in one.
  route("GET /api/v1/source-queues", OPERATOR_READ, "List the queues that sources take from", {
    answer: () =>
      Doc.shows(Doc.closed({ data: Type.Array(SourceQueue) }), "One for each active source that takes from a queue", {
        data: [],
      }),
    handle() {
      const known = connections.list();
      return { data: pullers.list().map((pulled) => presentQueue(pulled, known)) };
    },
  });
}

function presentKind(kind: SourceKindRules) {
  const { isPulled: pulled = false, checkManifest, options } = kind;
  return presentAs(SourceKind, { ...kind, pulled, hasManifest: checkManifest !== undefined, options });
}

function presentQueue(pulled: PulledFacts, connections: readonly NamedConnection[]) {
  const { connection, trouble } = pulled;
  const found = connections.find(({ kind, name }) => kind === connection.kind && name === connection.name)?.state;
  return presentAs(SourceQueue, {
    ...pulled,
    connection: { ...connection, state: found?.state ?? "unused" },
    trouble: trouble ?? (found?.state === "failed" ? found.fault.message : undefined),
  });
}
