import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { DEAD_REASONS } from "../../model/delivery.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { EVENT_TYPE_MAX_LENGTH, EVENT_TYPE_PATTERN } from "../../model/event.ts";
import { stableId } from "../../model/ids.ts";
import {
  RECOVER_INCLUDES,
  REPLAY_KINDS,
  REPLAY_STATUSES,
  requestedFilter,
  type ReplayFilter,
  type ReplayKind,
} from "../../model/replay.ts";
import { oneOf } from "../../model/shape.ts";
import type { BulkReplays } from "../../replays/bulk-replays.ts";
import type { ReplayResults, ReplayRow } from "../../store/port/jobs.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { pageOf, presentAs, presentPage } from "../present.ts";
import { readIdempotencyKey } from "./resource-routes.ts";
import { ADMIN, READ, routesOf, type Parts } from "./route.ts";

/** The bodies of bulk requests. `replays/bulk-replays.ts` decides which filters each kind allows. */

const text = (description: string) =>
  Type.String({ minLength: 1, maxLength: 128, pattern: "^[^\\u0000]*$", description });

const subscription_id = text("Only deliveries to this subscription");
const tenant_id = text("Only deliveries of this tenant; for keys that are not bound to a tenant");
const event_type = Type.String({
  maxLength: EVENT_TYPE_MAX_LENGTH,
  pattern: EVENT_TYPE_PATTERN,
  description: "Only events of exactly this type",
});
const reason = oneOf(DEAD_REASONS, { description: "Only deliveries that are dead for this reason" });
const include = oneOf(RECOVER_INCLUDES, {
  default: "failed",
  description: "Replay dead letters, events that the subscription never got, or both",
});
const status = Type.Literal("pending", { description: "Only pending deliveries, not those being sent right now" });
const plan = Type.Boolean({ default: false, description: "Only count the deliveries; nothing is changed" });
const all = Type.Literal(true, { description: "Select everything, instead of a filter" });

export const DeadLetterFilter = Doc.optional({
  subscription_id,
  tenant_id,
  reason,
  event_type,
  since: Doc.time("Dead at this time or later"),
  until: Doc.time("Dead before this time"),
});

/** One of `id`, `filter` and `all`. */
export const DeadLetterReplay = Doc.optional({
  id: Type.String({ maxLength: 64, description: "Only this delivery, at once" }),
  filter: DeadLetterFilter,
  all,
  plan,
});

/** One of `id`, `filter` and `all`. */
export const DeadLetterPurge = Doc.optional({
  id: Type.String({ maxLength: 64, description: "Only this delivery, at once and without `confirm`" }),
  filter: DeadLetterFilter,
  all,
  confirm: Type.Union([Type.Integer({ minimum: 0 }), Type.Literal("purge")], {
    description: "The `count` from the answer to a request without `confirm`, or the word `purge`",
  }),
});

const received = { since: Doc.time("Received at this time or later"), until: Doc.time("Received before this time") };

const DeliveryCancel = Doc.closed({
  filter: Doc.optional({ subscription_id, tenant_id, event_type, status, ...received }),
  plan: Type.Optional(plan),
});

const SubscriptionRecover = Doc.closed({
  since: Doc.time("Only events received at this time or later"),
  ...Doc.optional({ until: Doc.time("Only events received before this time"), include, plan }).properties,
});

const ReplayFilterInput = Doc.optional({
  subscription_id,
  tenant_id,
  event_type,
  source: text("Only events from this source"),
  reason,
  status,
  include,
  since: Doc.time("Received at this time or later; for dead letters: dead at this time or later"),
  until: Doc.time("Received, or dead, before this time"),
});

const ReplayStart = Doc.closed({
  kind: oneOf(["dead_letters", "events", "recover", "cancel"] as const, {
    description: "What the job does: replay dead letters or events, recover a subscription, or cancel deliveries",
  }),
  ...Doc.optional({ filter: ReplayFilterInput, plan }).properties,
});

const Filter = Doc.shape("ReplayFilter", "The filter of the request", () => ReplayFilterInput.properties);

export const Replay = Doc.shape(
  "Replay",
  "A job that replays, cancels or purges many deliveries. It continues after a restart",
  () => ({
    id: Doc.text(EXAMPLE.runningReplay),
    kind: Type.Enum([...REPLAY_KINDS], { examples: ["dead_letters"] }),
    status: Type.Enum([...REPLAY_STATUSES], { examples: ["running"] }),
    tenant_id: Doc.nullable(Doc.text(EXAMPLE.tenant, "Null for all tenants")),
    filter: Filter,
    total: Doc.count(1200, "The number of deliveries found at the start"),
    total_exact: Type.Boolean({
      description: "False when there were more than could be counted in time",
      examples: [true],
    }),
    done: Doc.count(
      400,
      "The deliveries that were opened again, cancelled or purged; `results` says what became of them",
    ),
    skipped: Doc.countOf("Deliveries that had changed in the meantime"),
    failed: Doc.countOf("Deliveries whose subscription was deleted"),
    results: Type.Optional(
      Doc.nullable(
        Doc.closed(
          {
            delivered: Doc.count(390),
            failed_again: Doc.count(4, "Dead letters again"),
            waiting: Doc.count(6, "Not sent yet, or waiting for a retry"),
            cancelled: Doc.Count,
            counted: Doc.count(400, "How many were counted: all, or the first 5,000"),
          },
          "Only in the answer for one replay: what has become of the deliveries that it opened. Null for a job that " +
            "opens none",
        ),
      ),
    ),
    error: Doc.textOrNull("Why the job failed; set with the status `failed`"),
    created_at: Doc.Time,
    started_at: Doc.Time,
    completed_at: Doc.nullable(Doc.Time),
  }),
);

const ReplayPlan = Doc.shape("ReplayPlan", "The number of deliveries that a replay would process", () => ({
  kind: Doc.choice(REPLAY_KINDS),
  filter: Filter,
  count: Doc.Count,
  exact: Doc.flag("False when `count` is only a lower bound"),
}));

export const PLANNED = {
  description: "With `plan`: only the number of deliveries; nothing is changed",
  schema: ReplayPlan,
};

const filter = { subscription_id: EXAMPLE.subscription };
const shownFilter = { ...filter, tenant_id: EXAMPLE.tenant };
const RESULTS = { delivered: 390, failed_again: 4, waiting: 6, cancelled: 0, counted: 400 };
const shows = (description: string, example: object = {}) =>
  Doc.shows(Replay, description, { filter: shownFilter, ...example });
export const BEGIN_ERRORS = ["not_found", "conflict", "idempotency_key_reused"] as const;
export const begunExample = (kind: string, more: object = {}) => ({
  ...shows("The job, which runs in the background", { kind, filter: { ...shownFilter, ...more }, done: 0 }),
  status: 202,
});

const ListQuery = Doc.pageQuery({
  tenant_id: Type.String({ maxLength: 128, pattern: "^[^\\u0000]*$" }),
  status: oneOf(REPLAY_STATUSES),
});

/** Jobs on many deliveries at once. */
export function addReplayRoutes(app: FastifyInstance, { bulkReplays }: Parts): void {
  const route = routesOf(app, "Replays");
  const { startReplay } = createReplayAnswers(bulkReplays);
  const get = (request: FastifyRequest) =>
    bulkReplays.get((request.params as { id: string }).id, request.caller?.tenantId);

  route("POST /api/v1/replays", ADMIN, "Create a replay of many deliveries, or count them first", {
    body: ReplayStart,
    description:
      "New deliveries go first: only a few replayed deliveries of each subscription are sent at a time. With a key " +
      "or portal link of a tenant, a job leaves out the subscriptions that the caller may not change (`can.change`).",
    example: { body: { kind: "dead_letters", filter } },
    headers: Doc.IDEMPOTENCY_KEY,
    answer: () => begunExample("dead_letters"),
    otherAnswers: () => [PLANNED],
    errors: BEGIN_ERRORS,
    handle(request, reply) {
      const { kind, filter = {}, plan } = request.body;
      return startReplay(request, reply, kind, { filter, plan });
    },
  });

  route("GET /api/v1/replays", READ, "List replays, latest first", {
    query: ListQuery,
    example: { query: { limit: 20, status: "running" } },
    answer: () => Doc.page(Replay, "Jobs, latest first", { filter: shownFilter }),
    async handle({ query, caller }) {
      const filter = { tenantId: caller?.tenantId ?? query.tenant_id, status: query.status };
      return presentPage(await bulkReplays.list(filter, pageOf(query)), (replay) => presentReplay(replay));
    },
  });

  route("GET /api/v1/replays/:id", READ, "Get a replay and its progress", {
    example: { params: { id: EXAMPLE.runningReplay } },
    answer: () => shows("The job and its progress", { results: RESULTS }),
    async handle(request) {
      const replay = await get(request);
      return presentReplayWith(replay, await bulkReplays.loadResults(replay));
    },
  });

  function addStatusRoute(
    action: string,
    status: "paused" | "running" | "cancelled",
    [summary, description]: readonly [string, string],
    example: { id: string; status?: string; completed_at?: string },
  ): void {
    route(`POST /api/v1/replays/:id/${action}`, ADMIN, summary, {
      example: { params: { id: example.id } },
      answer: () => shows(description, example),
      errors: ["conflict"],
      handle: async (request) =>
        presentReplay(await bulkReplays.setStatus(await get(request), status, request.caller?.tenantId)),
    });
  }
  const [running, paused] = [{ id: EXAMPLE.runningReplay }, { id: EXAMPLE.pausedReplay }];
  const ended = { ...paused, status: "cancelled", completed_at: EXAMPLE.laterTime };
  addStatusRoute("pause", "paused", ["Pause a replay", "Paused"], { ...running, status: "paused" });
  addStatusRoute("resume", "running", ["Resume a paused replay", "The job, which runs again"], paused);
  addStatusRoute("cancel", "cancelled", ["Cancel a replay; finished work is kept", "Ended"], ended);

  route("POST /api/v1/subscriptions/:id/recover", ADMIN, "Recover events that a subscription missed, as a job", {
    body: SubscriptionRecover,
    description:
      "For use after an outage of the destination. Replays its dead letters and, with `include`, also events that it " +
      "never got.",
    example: { params: { id: EXAMPLE.subscription }, body: { since: EXAMPLE.time, include: "all" } },
    headers: Doc.IDEMPOTENCY_KEY,
    answer: () => begunExample("recover", { since: EXAMPLE.time, include: "all" }),
    otherAnswers: () => [PLANNED],
    errors: BEGIN_ERRORS,
    handle(request, reply) {
      const { plan, ...rest } = request.body;
      const filter: ReplayFilter = { subscription_id: request.params.id, ...rest };
      return startReplay(request, reply, "recover", { filter, plan });
    },
  });

  route("POST /api/v1/deliveries/cancel", ADMIN, "Cancel many open deliveries, as a job", {
    body: DeliveryCancel,
    example: { body: { filter } },
    headers: Doc.IDEMPOTENCY_KEY,
    answer: () => begunExample("cancel"),
    otherAnswers: () => [PLANNED],
    errors: BEGIN_ERRORS,
    handle: (request, reply) => startReplay(request, reply, "cancel", request.body),
  });
}

interface Selection {
  filter?: ReplayFilter | undefined;
  /** Required instead of a filter, so that nobody selects everything by mistake. */
  all?: true | undefined;
  plan?: boolean | undefined;
}

/** The answer of all routes that start a job. */
export function createReplayAnswers(bulkReplays: BulkReplays) {
  function toReplayRequest(request: FastifyRequest, kind: ReplayKind, { filter, all }: Selection) {
    if ((filter === undefined) === (all === undefined)) {
      throw invalidField("filter", "Send either filter, to select some, or all: true.");
    }
    const boundTo = request.caller?.tenantId;
    return { kind, filter: ofTenant(filter ?? {}, boundTo), boundTo };
  }

  return {
    toReplayRequest,

    /** 200 with a count for a plan, otherwise 202 with the job. */
    async startReplay(request: FastifyRequest, reply: FastifyReply, kind: ReplayKind, selection: Selection) {
      const wanted = toReplayRequest(request, kind, selection);
      if (selection.plan === true) {
        const { count, isExact } = await bulkReplays.plan(wanted);
        return reply.send({ kind, filter: wanted.filter, count, exact: isExact });
      }
      const key = readIdempotencyKey(request);
      const id = key === undefined ? undefined : stableId("rpl", `${wanted.boundTo ?? ""}\0idempotency-key\0${key}`);
      const { replay, isRepeat } = await bulkReplays.start({ ...wanted, id });
      if (isRepeat) reply.header("idempotency-replayed", "true");
      return reply.code(202).send(presentReplay(replay));
    },
  };
}

/** A key that is bound to a tenant must not select deliveries of another tenant. */
function ofTenant(filter: ReplayFilter, boundTo: string | undefined): ReplayFilter {
  if (boundTo === undefined || filter.tenant_id === undefined || filter.tenant_id === boundTo) return filter;
  throw new PosthornError("forbidden", `This key is bound to the tenant ${boundTo}. Leave out tenant_id.`);
}

/** Undefined `results` for a job that opens no deliveries. */
function presentReplayWith(replay: ReplayRow, results: ReplayResults | undefined) {
  if (results === undefined) return presentReplay(replay, null);
  const { delivered, dead, open, cancelled } = results;
  const counted = delivered + dead + open + cancelled;
  return presentReplay(replay, { delivered, failed_again: dead, waiting: open, cancelled, counted });
}

function presentReplay(replay: ReplayRow, results?: Doc.AnswerOf<typeof Replay>["results"]) {
  const { filter, totalIsExact: totalExact } = replay;
  return presentAs(Replay, { ...replay, filter: requestedFilter(filter), totalExact, results });
}
