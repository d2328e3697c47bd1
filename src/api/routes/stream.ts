import type { FastifyInstance, FastifyRequest } from "fastify";
import type { IncomingMessage } from "node:http";
import { Type, type Static } from "typebox";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../../model/alert-rules.ts";
import { DELIVERY_STATES } from "../../model/delivery.ts";
import { PosthornError } from "../../model/errors.ts";
import { parseLabel } from "../../model/event-search.ts";
import { oneOf } from "../../model/shape.ts";
import { placeOwnerOf, type Caller, type Keys } from "../../resources/keys.ts";
import type { Subscriptions } from "../../resources/subscriptions/subscriptions.ts";
import type { Store } from "../../store/store.ts";
import { FRAME_TYPES, type FrameType } from "../stream/frames.ts";
import type { StreamRequest } from "../stream/stream-client.ts";
import { openStreamOutput } from "../stream/stream-output.ts";
import type { Streams } from "../stream/streams.ts";
import { EventQuery, refuseNoPattern } from "./event-query.ts";
import { DeadLetterFilter } from "./replay-bodies.ts";

const ANY_TYPE = `(${FRAME_TYPES.join("|")})`;

const StreamQuery = Type.Object(
  {
    types: Type.Optional(
      Type.String({
        maxLength: 100,
        pattern: `^${ANY_TYPE}(,${ANY_TYPE})*$`,
        description: `The frames to send, separated by commas: ${FRAME_TYPES.join(", ")}; all by default`,
      }),
    ),
    event_type: EventQuery.event_type,
    source: EventQuery.source,
    tenant_id: EventQuery.tenant_id,
    subscription_id: Type.Optional(
      Type.String({
        maxLength: 128,
        description: "Only attempts of this subscription, and events that have a delivery to it",
      }),
    ),
    status: Type.Optional(
      Type.Union(
        DELIVERY_STATES.map((state) => Type.Literal(state)),
        { description: "Only attempts whose delivery has this status when the frame is created" },
      ),
    ),
    reason: DeadLetterFilter.properties.reason,
    id: EventQuery.id,
    ordering_key: EventQuery.ordering_key,
    label: EventQuery.label,
    unmatched: EventQuery.unmatched,
    rule: Type.Optional(oneOf(ALERT_RULE_NAMES, { description: "Only alerts of this rule" })),
    severity: Type.Optional(oneOf(ALERT_SEVERITIES, { description: "Only alerts of this severity" })),
    body: Type.Optional(
      Type.Union([Type.Literal("true"), Type.Literal("false"), Type.Literal("base64")], {
        default: "false",
        description: "Include bodies of up to 256 KiB. `true`: as JSON or text; `base64`: byte for byte",
      }),
    ),
    follow: Type.Optional(
      Type.Boolean({ default: true, description: "False: the stream ends when everything up to now was sent" }),
    ),
    since: Type.Optional(
      Type.String({
        format: "date-time",
        description:
          "Used only without a last id: begins with events received since this time, and with attempts from now on",
      }),
    ),
    last_event_id: Type.Optional(
      Type.String({
        maxLength: 100,
        description: "The same as the header `Last-Event-ID`, for clients that cannot send it",
      }),
    ),
  },
  { additionalProperties: false },
);
type StreamQuery = Static<typeof StreamQuery>;

export interface StreamRouteOptions {
  streams: Streams;
  subscriptions: Pick<Subscriptions, "getById">;
  keys: Pick<Keys, "stillAllows">;
  /** Looks again for the caller of a request that was allowed. */
  findCaller: (request: IncomingMessage) => Caller | undefined | Promise<Caller | undefined>;
  store: Pick<Store, "reads">;
}

export function addStreamRoute(
  app: FastifyInstance,
  { streams, subscriptions, keys, findCaller, store }: StreamRouteOptions,
): void {
  function readAfter(request: FastifyRequest<{ Querystring: StreamQuery }>): StreamRequest["after"] {
    const given = request.headers["last-event-id"];
    const id = typeof given === "string" && given !== "" ? given : request.query.last_event_id;
    if (id === undefined || id === "") return undefined;
    const after = streams.ids.parse(id);
    if (after !== undefined) return after;
    throw new PosthornError(
      "invalid_field",
      `"${id.slice(0, 100)}" is not the id of a frame. Send the id of the last frame, or none to begin with new events.`,
      { field: "last_event_id" },
    );
  }

  async function findSince(since: number): Promise<StreamRequest["after"]> {
    const { attemptSeq } = await store.reads.findLogEnd();
    const { afterSeq } = await store.reads.findEventSpan(since, undefined);
    return { position: { eventSeq: afterSeq, attemptSeq } };
  }

  app.get<{ Querystring: StreamQuery }>(
    "/api/v1/stream",
    {
      exposeHeadRoute: false,
      config: { scope: "read" },
      schema: { summary: "Follow events, attempts, modes and alerts live", querystring: StreamQuery },
    },
    async (request, reply) => {
      const { types, event_type: eventType, subscription_id: subscriptionId, label, body, follow } = request.query;
      const { source, status, reason, id, ordering_key: orderingKey, unmatched, rule, severity } = request.query;
      const caller = request.caller as Caller;
      const tenantId = caller.tenantId ?? request.query.tenant_id;
      if (eventType !== undefined) refuseNoPattern(eventType);
      const subscriptionSeq =
        subscriptionId === undefined ? undefined : subscriptions.getById(subscriptionId, tenantId).seq;
      const since = request.query.since === undefined ? undefined : Date.parse(request.query.since);
      const after = readAfter(request) ?? (since === undefined ? undefined : await findSince(since));
      const leave = streams.enter(placeOwnerOf(caller));
      reply.hijack();
      const output = openStreamOutput(reply.raw);
      output.onClose(leave);
      streams.open(
        {
          filter: {
            types: types === undefined ? FRAME_TYPES : (types.split(",") as FrameType[]),
            tenantId,
            source,
            eventType,
            subscriptionSeq,
            id,
            orderingKey,
            status,
            reason,
            labels: label === undefined ? undefined : [label].flat().map(parseLabel),
            unmatched,
            rule,
            severity,
            since,
          },
          body: body === "true" ? "json" : body === "base64" ? "base64" : "none",
          isFollowing: follow !== false,
          after,
          isAllowed: () => keys.stillAllows(caller, "read"),
          isKnown: async () => (await findCaller(request.raw)) !== undefined,
        },
        output,
      );
    },
  );
}
