import type { FastifyInstance, FastifyRequest } from "fastify";
import { Type, type Static } from "typebox";
import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../../model/alert-rules.ts";
import { DELIVERY_STATES } from "../../model/delivery.ts";
import { invalidField } from "../../model/errors.ts";
import { parseLabel } from "../../model/event-search.ts";
import { ATTEMPT_RESULTS } from "../../model/outcome.ts";
import { oneOf } from "../../model/shape.ts";
import { placeOwnerOf, type Caller } from "../../resources/keys.ts";
import { ATTEMPT_TRIGGERS } from "../../store/port/lanes.ts";
import * as Doc from "../openapi/shapes.ts";
import { FRAME_TYPES, type FrameType } from "../stream/entries.ts";
import { openStreamOutput, type StreamRequest } from "../stream/stream-client.ts";
import { Delivery } from "./deliveries.ts";
import { EventQuery, rejectNoPattern } from "./event-query.ts";
import { Event, EventRequest, Payload } from "./event-shape.ts";
import { DeadLetterFilter } from "./replays.ts";
import { READ, routesOf, type Parts } from "./route.ts";

const EventFrame = Doc.extended(Event, () => ({ request: EventRequest, ...Payload }), "StreamEvent");

const AttemptFrame = Doc.extended(
  Delivery,
  () => ({
    source: Doc.text("api", "The source of the event"),
    subscription_name: Doc.textOrNull("Null when the subscription was deleted"),
    attempt: Doc.closed({
      number: Type.Integer({ minimum: 1 }),
      started_at: Doc.Time,
      duration_ms: Type.Number({ minimum: 0 }),
      result: Type.Enum([...ATTEMPT_RESULTS], { examples: ["failed"] }),
      response_code: Doc.nullable(Type.Integer()),
      error: Doc.textOrNull(),
      trigger: Doc.choice(ATTEMPT_TRIGGERS),
    }),
  }),
  "StreamAttempt",
);

/** The data of each frame, by its `event`. */
const STREAM_FRAMES = {
  event: EventFrame,
  attempt: AttemptFrame,
  mode: EventFrame,
  alert: EventFrame,
  ready: Doc.shape("StreamReady", () => ({ position: Doc.textOf("The position at which the stream begins") })),
  gap: Doc.shape("StreamGap", () => ({
    reason: Doc.choice(
      ["deleted", "unknown_position"],
      "`deleted`: events in between were deleted, by retention or by a user. `unknown_position`: the id belongs to " +
        "another store, or the store was restored from a backup since; the stream begins with new events",
    ),
    complete_since: Doc.nullable(Doc.time("Nothing received since this time is missing; null means now")),
  })),
  dropped: Doc.shape("StreamDropped", () => ({
    reason: Doc.choice(["too_slow", "stalled", "key_revoked", "store_fault"]),
    detail: Type.String(),
  })),
  end: Doc.shape("StreamEnd", () => ({
    reason: Doc.choice(["shutting_down", "caught_up"], "`caught_up`: only with `follow=false`"),
  })),
};

const ID = "3f9c0a71.0.0";

const ANY_TYPE = `(${FRAME_TYPES.join("|")})`;

const StreamQuery = Doc.optional({
  types: Type.String({
    maxLength: 100,
    pattern: `^${ANY_TYPE}(,${ANY_TYPE})*$`,
    description: `The frames to send, separated by commas: ${FRAME_TYPES.join(", ")}; all by default`,
  }),
  event_type: EventQuery.event_type,
  source: EventQuery.source,
  tenant_id: EventQuery.tenant_id,
  subscription_id: Type.String({
    maxLength: 128,
    description: "Only attempts of this subscription, and events that have a delivery to it",
  }),
  status: oneOf(DELIVERY_STATES, {
    description: "Only attempts whose delivery has this status when the frame is created",
  }),
  reason: DeadLetterFilter.properties.reason,
  id: EventQuery.id,
  ordering_key: EventQuery.ordering_key,
  label: EventQuery.label,
  unmatched: EventQuery.unmatched,
  rule: oneOf(ALERT_RULE_NAMES, { description: "Only alerts of this rule" }),
  severity: oneOf(ALERT_SEVERITIES, { description: "Only alerts of this severity" }),
  body: Type.Union([Type.Literal("true"), Type.Literal("false"), Type.Literal("base64")], {
    default: "false",
    description: "Include bodies of up to 256 KiB. `true`: as JSON or text; `base64`: byte for byte",
  }),
  follow: Type.Boolean({ default: true, description: "False: the stream ends when everything up to now was sent" }),
  since: Doc.time(
    "Used only without a last id: begins with events received since this time, and with attempts from now on",
  ),
  last_event_id: Type.String({
    maxLength: 100,
    description: "The same as the header `Last-Event-ID`, for clients that cannot send it",
  }),
});

export function addStreamRoute(app: FastifyInstance, { streams, subscriptions, keys, findCaller, store }: Parts): void {
  const route = routesOf(app, "Stream");
  function readAfter(request: FastifyRequest<{ Querystring: Static<typeof StreamQuery> }>): StreamRequest["after"] {
    const given = request.headers["last-event-id"];
    const id = typeof given === "string" && given !== "" ? given : request.query.last_event_id;
    if (id === undefined || id === "") return undefined;
    const after = streams.ids.parse(id);
    if (after !== undefined) return after;
    throw invalidField(
      "last_event_id",
      `"${id.slice(0, 100)}" is not the id of a frame. Send the id of the last frame, or none to begin with new events.`,
    );
  }

  async function findSince(since: number): Promise<StreamRequest["after"]> {
    const { attemptSeq } = await store.reads.findLogEnd();
    const { afterSeq } = await store.reads.findEventSpan(since, undefined);
    return { position: { eventSeq: afterSeq, attemptSeq } };
  }

  route("GET /api/v1/stream", READ, "Follow events, attempts, modes and alerts live", {
    exposeHeadRoute: false,
    query: StreamQuery,
    description:
      "Server-sent events. Each frame has an `id`. A client that reconnects with the last id as `Last-Event-ID` gets " +
      "everything since then, and nothing twice, even after a restart of the gateway. `mode` and `alert` are events " +
      "of the gateway itself and always include their payload. A comment with the current id is sent every 15 s. The " +
      "data of each frame is one line of JSON; `x-frames` describes it for each `event`. `dropped` and `end` end a " +
      "connection.",
    example: { query: { types: "event,attempt", follow: false } },
    headers: { "Last-Event-ID": "The `id` of the last frame received; without it the stream begins with new events" },
    answer: () => ({
      description: "Frames, until the client closes the connection",
      schema: Type.String({ "x-frames": STREAM_FRAMES }),
      contentType: "text/event-stream",
      example:
        `retry: 2000\nid: ${ID}\nevent: ready\ndata: {"position":"${ID}"}\n\n` +
        `id: ${ID}\nevent: end\ndata: {"reason":"caught_up"}\n\n`,
    }),
    errors: ["not_found", "shutting_down"],
    async handle(request, reply) {
      const { types, event_type: eventType, subscription_id: subscriptionId, label, body, follow } = request.query;
      const { source, status, reason, id, ordering_key: orderingKey, unmatched, rule, severity } = request.query;
      const same = { source, status, reason, id, orderingKey, unmatched, rule, severity };
      const caller = request.caller as Caller;
      const tenantId = caller.tenantId ?? request.query.tenant_id;
      if (eventType !== undefined) rejectNoPattern(eventType);
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
            ...same,
            types: types === undefined ? FRAME_TYPES : (types.split(",") as FrameType[]),
            tenantId,
            eventType,
            subscriptionSeq,
            labels: label === undefined ? undefined : [label].flat().map(parseLabel),
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
  });
}
