import type { FastifyInstance } from "fastify";
import type { SourceKindRules } from "../../model/source.ts";
import type { ConnectionFacts, PulledFacts } from "../present/connection-facts.ts";
import type { AnswerOf } from "../openapi/operation-docs.ts";
import type { SourceKind as Kind, SourceQueue as Queue } from "./source-kinds.docs.ts";

export interface SourceKindRoutesOptions {
  sourceKinds: ReadonlyMap<string, SourceKindRules>;
  pullers: { list(): readonly PulledFacts[] };
  connections: { list(): readonly ConnectionFacts[] };
}

/** What somebody needs to know in order to declare a source, and how the queues are that sources take from. */
export function addSourceKindRoutes(app: FastifyInstance, options: SourceKindRoutesOptions): void {
  const { sourceKinds, pullers, connections } = options;

  app.get(
    "/api/v1/source-kinds",
    { config: { scope: "read" }, schema: { summary: "List the kinds of sources" } },
    () => ({ data: [...sourceKinds.values()].map(presentKind) }),
  );

  app.get(
    "/api/v1/source-queues",
    {
      // Queues of a broker belong to the gateway: messages of several tenants may lie in one.
      config: { scope: "read", unbound: true },
      schema: { summary: "List the queues that sources take from" },
    },
    () => {
      const known = connections.list();
      return { data: pullers.list().map((pulled) => presentQueue(pulled, known)) };
    },
  );
}

function presentKind(kind: SourceKindRules): AnswerOf<typeof Kind> {
  return {
    name: kind.name,
    needs_secret: kind.needsSecret,
    pulled: kind.isPulled === true,
    has_manifest: kind.checkManifest !== undefined,
    options: (kind.options as AnswerOf<typeof Kind>["options"] | undefined) ?? null,
  };
}

function presentQueue(pulled: PulledFacts, connections: readonly ConnectionFacts[]): AnswerOf<typeof Queue> {
  const { source, connection, depth, trouble } = pulled;
  const found = connections.find(({ kind, name }) => kind === connection.kind && name === connection.name)?.state;
  return {
    source,
    connection: { ...connection, state: found?.state ?? "unused" },
    depth: depth ?? null,
    trouble: trouble ?? (found?.state === "failed" ? found.fault.message : null),
  };
}
