import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { findParked, listParked, purgeParked, requeueParked, type ParkedFilter } from "../../queues/parked-messages.ts";
import type { ParkedMessage, ParkedQueue } from "../../queues/parked.ts";
import type { Caller } from "../../resources/keys.ts";
import { EXAMPLE } from "../openapi/examples.ts";
import * as Doc from "../openapi/shapes.ts";
import { pageOf, presentAs, presentBody } from "../present.ts";
import { OPERATOR, routesOf, type Parts } from "./route.ts";

const text = Doc.nullable(Type.String());

const Parked = Doc.shape("ParkedMessage", () => ({
  id: Doc.textOf("Identifies the message at the broker: a number, the broker's id, or a hash of the body"),
  message_id: text,
  reason: Doc.textOrNull("Why the message was parked; RabbitMQ's own reasons are `rejected`, `expired` …"),
  description: text,
  queue: Doc.textOrNull("The queue that the message came from and is requeued to; null when unknown"),
  subject: text,
  content_type: text,
  size: Doc.Count,
  parked_at: Doc.nullable(Doc.Time),
}));

const Limits = Doc.closed(() => ({
  looks_at: Type.Integer({ description: "How many messages can be listed, starting with the oldest" }),
  can_page: Doc.flag("Whether the list has further pages (`next_cursor`)"),
  counts_looks: Doc.flag(
    "True when the broker has no peek: listing receives messages and returns them, which counts as a delivery",
  ),
  keeps_id: Doc.flag("Whether a requeued message keeps its id"),
}));

const ParkedPage = Doc.closed(() => ({
  data: Type.Array(Parked),
  next_cursor: text,
  count: Doc.nullable(Doc.Count),
  limits: Limits,
}));

const ParkedWithBody = Doc.extended(Parked, () => ({
  properties: Doc.Anything,
  body: Type.Optional(Type.String()),
  body_base64: Type.Optional(Type.String()),
}));

const PARKED = {
  id: EXAMPLE.parkedMessage,
  message_id: "order-1001",
  reason: "invalid",
  description: "The body is not well-formed JSON.",
  queue: "orders",
  subject: "order.created",
  content_type: "application/json",
  size: 14,
  parked_at: null,
};
const params = { name: EXAMPLE.queueSource };
const errors = ["not_found", "conflict", "broker_failed"] as const;

const Reason = Type.String({
  minLength: 1,
  maxLength: 256,
  description: "Only messages that were parked for this reason",
});
const ListQuery = Doc.pageQuery({ reason: Reason });
const selection = {
  reason: Reason,
  ids: Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
    minItems: 1,
    maxItems: 1000,
    description: "Only the messages with these ids from the list",
  }),
};
const RequeueBody = Doc.optional(selection);
const PurgeBody = Doc.optional({
  ...selection,
  count: Doc.countOf("The number of messages to delete; if it is wrong, nothing is deleted"),
});

export function addParkedRoutes(app: FastifyInstance, { sources, parked, trail, logger }: Parts): void {
  const route = routesOf(app, "Parked messages");
  const open = (name: string) => parked.open(sources.get(name, undefined).thing.source);

  /** A broker's queue and the store share no transaction: the intention is logged before, the result after. */
  function note(act: string, id: string, details: Readonly<Record<string, unknown>>): Promise<void> {
    const { tenantId } = sources.get(id, undefined).thing.source;
    return trail.note({ act: `parked.${act}`, kind: "source", id, tenantId, details });
  }

  function logMoved(source: string, action: "requeued" | "purged", count: number, caller: Caller | undefined): void {
    logger.info({ source, count, key_id: caller?.keyId }, `parked messages were ${action}`);
  }

  route("GET /api/v1/sources/:name/parked", OPERATOR, "List the parked messages of a source", {
    query: ListQuery,
    description: "Messages are listed oldest first, without bodies. `limits` says what this broker cannot do.",
    example: { params, query: { limit: 20 } },
    answer: () =>
      Doc.shows(
        ParkedPage,
        "The messages that can be listed. `count` is the number of all parked messages, or null when the broker does " +
          "not report it",
        {
          data: [PARKED],
          next_cursor: null,
          count: 1,
          limits: { looks_at: 1000, can_page: true, counts_looks: false, keeps_id: true },
        },
      ),
    errors,
    async handle({ params, query }) {
      const queue = open(params.name);
      const { limit, cursor } = pageOf(query);
      const page = await listParked(queue, { reason: query.reason }, { max: limit, after: readPlace(cursor) });
      return {
        data: page.messages.map(present),
        next_cursor: page.next ?? null,
        count: await loadCount(queue),
        limits: presentAs(Limits, queue.limits),
      };
    },
  });

  route("GET /api/v1/sources/:name/parked/:id", OPERATOR, "Get a parked message", {
    example: { params: { ...params, id: EXAMPLE.parkedMessage } },
    answer: () =>
      Doc.shows(ParkedWithBody, "The message with its body; `body_base64` instead of `body` when it is not UTF-8", {
        ...PARKED,
        properties: {},
        body: '{"id": 1001, \n',
      }),
    errors,
    async handle({ params }) {
      const message = await findParked(open(params.name), params.id);
      if (message === undefined) {
        throw new PosthornError(
          "not_found",
          `There is no parked message ${params.id} among the messages that can be listed.`,
        );
      }
      return { ...present(message), properties: message.properties, ...presentBody(message.body) };
    },
  });

  route("POST /api/v1/sources/:name/parked/requeue", OPERATOR, "Requeue parked messages", {
    body: RequeueBody,
    description:
      "Each message is first put into the queue that it came from, then removed here. If this is interrupted, the " +
      "message is in both queues; it is never lost. At most 500 in one call; `complete` is false when there may be " +
      "more.",
    example: { params, body: { reason: "invalid" } },
    answer: () =>
      Doc.shows(
        Doc.closed({ requeued: Doc.Count, without_origin: Doc.Count, complete: Type.Boolean() }),
        "How many messages were requeued, and how many stay because the queue they came from is unknown",
        { requeued: 1, without_origin: 0, complete: true },
      ),
    errors,
    async handle({ params, body, caller }) {
      const queue = open(params.name);
      await note("requeue", params.name, { wanted: body });
      const { requeued, withoutOrigin, isCutOff } = await requeueParked(queue, toFilter(body));
      await note("requeued", params.name, { requeued });
      logMoved(params.name, "requeued", requeued, caller);
      return { requeued, without_origin: withoutOrigin, complete: !isCutOff };
    },
  });

  route("POST /api/v1/sources/:name/parked/purge", OPERATOR, "Delete parked messages", {
    body: PurgeBody,
    description:
      "`count` must be the number of messages that match. Otherwise the answer is 409 with the right number, and " +
      "nothing is deleted.",
    example: { params, body: { reason: "invalid", count: 1 } },
    answer: () =>
      Doc.shows(Doc.closed({ purged: Doc.Count, complete: Type.Boolean() }), "The messages are deleted", {
        purged: 1,
        complete: true,
      }),
    errors: [...errors, "confirmation_required"],
    async handle({ params, body, caller }) {
      const count = body?.count ?? -1;
      const queue = open(params.name);
      await note("purge", params.name, { wanted: body });
      const outcome = await purgeParked(queue, toFilter(body), count);
      await note("purged", params.name, { purged: "purged" in outcome ? outcome.purged : 0 });
      if ("current" in outcome) throw unconfirmed(outcome.current, body?.count);
      logMoved(params.name, "purged", outcome.purged, caller);
      return { purged: outcome.purged, complete: !outcome.isCutOff };
    },
  });
}

function toFilter(body: Static<typeof RequeueBody> | null): ParkedFilter {
  return { reason: body?.reason, keys: body?.ids };
}

/** Brokers get only numbers, whatever a client sends. */
function readPlace(cursor: string | undefined): string | undefined {
  if (cursor === undefined || /^\d{1,19}$/.test(cursor)) return cursor;
  throw invalidField("cursor", "cursor: is not a cursor of this list.");
}

function unconfirmed(current: number, given: number | undefined): PosthornError {
  const there = `${current} parked ${current === 1 ? "message matches" : "messages match"}`;
  const said = given === undefined ? "" : `, not ${given}`;
  return new PosthornError(
    "confirmation_required",
    `${there}${said}. Nothing was deleted. Send {"count": ${current}} to delete them.`,
    { field: "count", details: { count: current } },
  );
}

/** Null when the credentials allow only receiving and sending, not counting. */
async function loadCount(queue: ParkedQueue): Promise<number | null> {
  try {
    return await queue.count();
  } catch (error) {
    if (error instanceof PosthornError && error.details?.["fault"] === "wrong_credentials") return null;
    throw error;
  }
}

function present(message: ParkedMessage) {
  const { key, id, cameFrom, body } = message;
  return presentAs(Parked, { ...message, id: key, messageId: id, queue: cameFrom, size: body.length });
}
