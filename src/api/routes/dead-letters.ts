import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { invalidField, PosthornError } from "../../model/errors.ts";
import type { DeadLetterGroup as StoredGroup } from "../../store/port/reads.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { pageOf, presentAs, presentPage } from "../present.ts";
import { createDeliveryReader, Delivery, OfSubscription, replayedDelivery } from "./deliveries.ts";
import {
  BEGIN_ERRORS,
  begunExample,
  createReplayAnswers,
  DeadLetterFilter,
  DeadLetterPurge,
  DeadLetterReplay,
  PLANNED,
  Replay,
} from "./replays.ts";
import { ADMIN, READ, routesOf, type Parts } from "./route.ts";

const DeadLetterGroup = Doc.shape(
  "DeadLetterGroup",
  "Dead letters of one subscription that have the same cause",
  () => ({
    subscription_id: Doc.text(EXAMPLE.subscription),
    subscription_name: Delivery.properties.subscription_name,
    reason: Delivery.properties.dead_reason,
    count: Doc.count(12),
    latest_at: Doc.Time,
    last_error: Doc.nullable(Doc.text("answered 400", "Of the latest")),
  }),
);

/** What one read may look at: a group beyond it is still shown, and told to be larger. */
const MAX_GROUPED = 50_000;
const Fields = { ...DeadLetterFilter.properties, ...OfSubscription };
const GroupQuery = Doc.optional(Fields);

export function addDeadLetterRoutes(app: FastifyInstance, parts: Parts): void {
  const { store, subscriptions, replays } = parts;
  const route = routesOf(app, "Deliveries");
  const { toFilter, getForChange, present } = createDeliveryReader(parts);
  const { startReplay, toReplayRequest } = createReplayAnswers(parts.bulkReplays);

  function toDeadLetterFilter(query: Static<typeof GroupQuery>, request: FastifyRequest) {
    const { reason, event_type: type, since, until } = query;
    return {
      ...toFilter(query, request),
      reason,
      type,
      since: since === undefined ? undefined : Date.parse(since),
      until: until === undefined ? undefined : Date.parse(until),
    };
  }

  const presentGroup = (group: StoredGroup) =>
    presentAs(DeadLetterGroup, { ...group, subscriptionName: subscriptions.find(group.subscriptionSeq)?.name });

  route("GET /api/v1/dead-letters", READ, "List dead letters, latest first", {
    query: Doc.pageQuery(Fields),
    example: { query: { limit: 20, reason: "refused" } },
    answer: () =>
      Doc.page(Delivery, "Dead letters, latest first. They are attempted again only when they are replayed"),
    errors: ["not_found"],
    async handle(request) {
      const filter = toDeadLetterFilter(request.query, request);
      return presentPage(await store.reads.listDeadLetters(filter, pageOf(request.query)), present);
    },
  });

  route("GET /api/v1/dead-letters/groups", READ, "List the dead letters by subscription and cause", {
    query: GroupQuery,
    example: { query: { reason: "refused" } },
    answer: () =>
      Doc.shows(
        Doc.closed({ data: Type.Array(DeadLetterGroup), exact: Type.Boolean({ examples: [true] }) }),
        "The largest group first. With `exact` false only the latest 50,000 were counted",
      ),
    errors: ["not_found"],
    async handle(request) {
      const filter = toDeadLetterFilter(request.query, request);
      const { groups, isComplete } = await store.reads.groupDeadLetters(filter, MAX_GROUPED);
      return { data: groups.map(presentGroup), exact: isComplete };
    },
  });

  route("POST /api/v1/dead-letters/replay", ADMIN, "Replay one dead letter, or many as a job", {
    body: DeadLetterReplay,
    description:
      "Replays one dead letter by `id` at once, or many by `filter` or `all` as a job. The answer is then the job " +
      "instead of the delivery. With `plan`, dead letters are only counted.",
    example: { body: { id: EXAMPLE.deadDelivery } },
    headers: Doc.IDEMPOTENCY_KEY,
    answer: () => ({ ...replayedDelivery(), schema: Type.Union([Delivery, Replay]) }),
    otherAnswers: () => [PLANNED],
    errors: ["not_found", "illegal_transition", "conflict", "idempotency_key_reused"],
    async handle(request, reply) {
      const { id } = request.body;
      if (id === undefined) return startReplay(request, reply, "dead_letters", request.body);
      const delivery = await getForChange(id, request);
      if (delivery.state !== "dead") {
        throw new PosthornError("illegal_transition", `The delivery ${id} is ${delivery.state}, not dead.`);
      }
      return reply.code(202).send(present(await replays.replay(delivery)));
    },
  });

  route("POST /api/v1/dead-letters/purge", ADMIN, "Purge dead letters permanently, after confirmation", {
    body: DeadLetterPurge,
    description:
      "Without `confirm` the answer is 409 with the `count` of dead letters that would be purged. One dead letter is " +
      "purged by `id`, at once and without `confirm`.",
    example: { body: { filter: { subscription_id: EXAMPLE.subscription }, confirm: "purge" } },
    headers: Doc.IDEMPOTENCY_KEY,
    answer: () => begunExample("purge"),
    otherAnswers: () => [{ description: "With `id`: the delivery, which is cancelled now", schema: Delivery }],
    errors: [...BEGIN_ERRORS, "confirmation_required", "illegal_transition"],
    async handle(request, reply) {
      const { id, confirm, filter, all } = request.body;
      if (id !== undefined) {
        if (filter === undefined && all === undefined) {
          return present(await replays.purge(await getForChange(id, request)));
        }
        throw invalidField("id", "Send only one of id, filter and all.");
      }
      if (confirm !== "purge") {
        const { count, isExact } = await parts.bulkReplays.plan(toReplayRequest(request, "purge", request.body));
        if (confirm !== count || !isExact) throw askToConfirm(count, isExact);
      }
      return startReplay(request, reply, "purge", request.body);
    },
  });
}

function askToConfirm(count: number, isExact: boolean): PosthornError {
  const many = isExact ? String(count) : `At least ${count}`;
  return new PosthornError(
    "confirmation_required",
    `${many} dead letters would be purged. Send confirm: ${isExact ? `${count}, or ` : ""}"purge" to do it.`,
    { details: { count, exact: isExact } },
  );
}
