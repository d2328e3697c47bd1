import type { FastifyInstance } from "fastify";
import { Type, type Static } from "typebox";
import {
  findParked,
  listParked,
  purgeParked,
  requeueParked,
  type ParkedFilter,
  type ParkedMessages,
} from "../../queues/parked-messages.ts";
import type { ParkedMessage, ParkedQueue } from "../../queues/parked.ts";
import { PosthornError } from "../../model/errors.ts";
import type { AuditTrail } from "../../resources/audit-trail.ts";
import type { Caller } from "../../resources/keys.ts";
import type { Sources } from "../../resources/sources/sources.ts";
import { presentBody } from "../present/body.ts";
import { isoTime } from "../present/time.ts";
import { pageOf, PageQuery } from "./paging.ts";

/** A broker's queues belong to the whole gateway: one queue may hold messages of several tenants. */
const OPERATOR = { scope: "admin", unbound: true } as const;

const Reason = Type.Optional(
  Type.String({ minLength: 1, maxLength: 256, description: "Only messages that were parked for this reason" }),
);
const ListQuery = Type.Object({ ...PageQuery, reason: Reason }, { additionalProperties: false });
const selection = {
  reason: Reason,
  ids: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 512 }), {
      minItems: 1,
      maxItems: 1000,
      description: "Only the messages with these ids from the list",
    }),
  ),
};
const RequeueBody = Type.Object(selection, { additionalProperties: false });
const PurgeBody = Type.Object(
  {
    ...selection,
    count: Type.Optional(
      Type.Integer({ minimum: 0, description: "The number of messages to delete; if it is wrong, nothing is deleted" }),
    ),
  },
  { additionalProperties: false },
);

export interface ParkedRoutesOptions {
  sources: Pick<Sources, "get">;
  parked: ParkedMessages;
  trail: Pick<AuditTrail, "note">;
  onMoved(source: string, act: "requeued" | "purged", count: number, caller: Caller | undefined): void;
}

export function addParkedRoutes(app: FastifyInstance, { sources, parked, trail, onMoved }: ParkedRoutesOptions): void {
  const open = (name: string) => parked.open(sources.get(name, undefined).thing.source);

  /** A broker's queue and the store share no transaction: the intention is logged before, the result after. */
  function note(act: string, id: string, details: Readonly<Record<string, unknown>>): Promise<void> {
    const { tenantId } = sources.get(id, undefined).thing.source;
    return trail.note({ act: `parked.${act}`, kind: "source", id, tenantId, details });
  }

  app.get<{ Params: { name: string }; Querystring: Static<typeof ListQuery> }>(
    "/api/v1/sources/:name/parked",
    { config: OPERATOR, schema: { summary: "List the parked messages of a source", querystring: ListQuery } },
    async ({ params, query }) => {
      const queue = open(params.name);
      const { limit, cursor } = pageOf(query);
      const page = await listParked(queue, { reason: query.reason }, { max: limit, after: readPlace(cursor) });
      return {
        data: page.messages.map(present),
        next_cursor: page.next ?? null,
        count: await countOf(queue),
        limits: presentLimits(queue),
      };
    },
  );

  app.get<{ Params: { name: string; id: string } }>(
    "/api/v1/sources/:name/parked/:id",
    { config: OPERATOR, schema: { summary: "Get a parked message" } },
    async ({ params }) => {
      const message = await findParked(open(params.name), params.id);
      if (message === undefined) {
        throw new PosthornError(
          "not_found",
          `There is no parked message ${params.id} among the messages that can be listed.`,
        );
      }
      return { ...present(message), properties: message.properties, ...presentBody(message.body) };
    },
  );

  app.post<{ Params: { name: string }; Body: Static<typeof RequeueBody> | null }>(
    "/api/v1/sources/:name/parked/requeue",
    { config: OPERATOR, schema: { summary: "Requeue parked messages", body: RequeueBody } },
    async ({ params, body, caller }) => {
      const queue = open(params.name);
      await note("requeue", params.name, { wanted: body });
      const { requeued, withoutOrigin, isCutOff } = await requeueParked(queue, toFilter(body));
      await note("requeued", params.name, { requeued });
      onMoved(params.name, "requeued", requeued, caller);
      return { requeued, without_origin: withoutOrigin, complete: !isCutOff };
    },
  );

  app.post<{ Params: { name: string }; Body: Static<typeof PurgeBody> | null }>(
    "/api/v1/sources/:name/parked/purge",
    { config: OPERATOR, schema: { summary: "Delete parked messages", body: PurgeBody } },
    async ({ params, body, caller }) => {
      const count = body?.count ?? -1;
      const queue = open(params.name);
      await note("purge", params.name, { wanted: body });
      const outcome = await purgeParked(queue, toFilter(body), count);
      await note("purged", params.name, { purged: "purged" in outcome ? outcome.purged : 0 });
      if ("current" in outcome) throw unconfirmed(outcome.current, body?.count);
      onMoved(params.name, "purged", outcome.purged, caller);
      return { purged: outcome.purged, complete: !outcome.isCutOff };
    },
  );
}

function toFilter(body: Static<typeof RequeueBody> | null): ParkedFilter {
  return { reason: body?.reason, keys: body?.ids };
}

/** Brokers get only numbers, whatever a client sends. */
function readPlace(cursor: string | undefined): string | undefined {
  if (cursor === undefined || /^\d{1,19}$/.test(cursor)) return cursor;
  throw new PosthornError("invalid_field", "cursor: is not a cursor of this list.", { field: "cursor" });
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
async function countOf(queue: ParkedQueue): Promise<number | null> {
  try {
    return await queue.count();
  } catch (error) {
    if (error instanceof PosthornError && error.details?.["fault"] === "wrong_credentials") return null;
    throw error;
  }
}

function present(message: ParkedMessage) {
  return {
    id: message.key,
    message_id: message.id ?? null,
    reason: message.reason ?? null,
    description: message.description ?? null,
    queue: message.cameFrom ?? null,
    subject: message.subject ?? null,
    content_type: message.contentType ?? null,
    size: message.body.length,
    parked_at: isoTime(message.parkedAt) ?? null,
  };
}

function presentLimits({ limits }: ParkedQueue) {
  return {
    looks_at: limits.looksAt,
    can_page: limits.canPage,
    counts_looks: limits.countsLooks,
    keeps_id: limits.keepsId,
  };
}
