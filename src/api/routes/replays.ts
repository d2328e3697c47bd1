import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { REPLAY_STATUSES, type ReplayFilter } from "../../model/replay.ts";
import type { BulkReplays } from "../../replays/bulk-replays.ts";
import { presentReplay, presentReplayWith } from "../present/replay.ts";
import { PageQuery, pageOf, presentPage } from "./paging.ts";
import { DeliveryCancel, ReplayStart, SubscriptionRecover } from "./replay-bodies.ts";
import { createReplayAnswers } from "./replay-answers.ts";

const ListQuery = Type.Object(
  {
    ...PageQuery,
    tenant_id: Type.Optional(Type.String({ maxLength: 128, pattern: "^[^\\u0000]*$" })),
    status: Type.Optional(Type.Union(REPLAY_STATUSES.map((status) => Type.Literal(status)))),
  },
  { additionalProperties: false },
);

const CHANGES = [
  { act: "pause", status: "paused", summary: "Pause a replay" },
  { act: "resume", status: "running", summary: "Resume a paused replay" },
  { act: "cancel", status: "cancelled", summary: "Cancel a replay; finished work is kept" },
] as const;

/** Jobs on many deliveries at once. */
export function addReplayRoutes(app: FastifyInstance, { bulkReplays }: { bulkReplays: BulkReplays }): void {
  const { startReplay } = createReplayAnswers(bulkReplays);
  const admin = { scope: "admin" } as const;
  const get = (request: FastifyRequest) =>
    bulkReplays.get((request.params as { id: string }).id, request.caller?.tenantId);

  app.post<{ Body: ReplayStart }>(
    "/api/v1/replays",
    {
      config: admin,
      schema: { summary: "Create a replay of many deliveries, or count them first", body: ReplayStart },
    },
    (request, reply) => {
      const { kind, filter = {}, plan } = request.body;
      return startReplay(request, reply, kind, { filter, plan });
    },
  );

  app.get<{ Querystring: Static<typeof ListQuery> }>(
    "/api/v1/replays",
    { config: { scope: "read" }, schema: { summary: "List replays, latest first", querystring: ListQuery } },
    async ({ query, caller }) => {
      const filter = { tenantId: caller?.tenantId ?? query.tenant_id, status: query.status };
      return presentPage(await bulkReplays.list(filter, pageOf(query)), presentReplay);
    },
  );

  app.get(
    "/api/v1/replays/:id",
    { config: { scope: "read" }, schema: { summary: "Get a replay and its progress" } },
    async (request) => {
      const replay = await get(request);
      return presentReplayWith(replay, await bulkReplays.loadResults(replay));
    },
  );

  for (const { act, status, summary } of CHANGES) {
    app.post(`/api/v1/replays/:id/${act}`, { config: admin, schema: { summary } }, async (request) =>
      presentReplay(await bulkReplays.setStatus(await get(request), status, request.caller?.tenantId)),
    );
  }

  app.post<{ Params: { id: string }; Body: Static<typeof SubscriptionRecover> }>(
    "/api/v1/subscriptions/:id/recover",
    {
      config: admin,
      schema: { summary: "Recover events that a subscription missed, as a job", body: SubscriptionRecover },
    },
    (request, reply) => {
      const { plan, ...wished } = request.body;
      const filter: ReplayFilter = { subscription_id: request.params.id, ...wished };
      return startReplay(request, reply, "recover", { filter, plan });
    },
  );

  app.post<{ Body: Static<typeof DeliveryCancel> }>(
    "/api/v1/deliveries/cancel",
    { config: admin, schema: { summary: "Cancel many open deliveries, as a job", body: DeliveryCancel } },
    (request, reply) => startReplay(request, reply, "cancel", request.body),
  );
}
