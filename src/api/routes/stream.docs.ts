import { Type } from "typebox";
import { ATTEMPT_RESULTS } from "../../model/outcome.ts";
import { ATTEMPT_TRIGGERS } from "../../store/port/lanes.ts";
import {
  Time,
  closed,
  extended,
  named,
  nullable,
  oneOf,
  text,
  textOrNull,
  type AreaDocs,
} from "../openapi/operation-docs.ts";
import { Delivery } from "./deliveries.docs.ts";
import { Event, EventRequest, Payload } from "./events.docs.ts";

const EventFrame = named(
  "StreamEvent",
  extended(Event, {
    request: EventRequest,
    ...Payload,
  }),
);

const AttemptFrame = named(
  "StreamAttempt",
  extended(Delivery, {
    source: text("api", "The source of the event"),
    subscription_name: textOrNull("Null when the subscription was deleted"),
    attempt: closed({
      number: Type.Integer({ minimum: 1 }),
      started_at: Time,
      duration_ms: Type.Number({ minimum: 0 }),
      result: Type.Enum([...ATTEMPT_RESULTS], { examples: ["failed"] }),
      response_code: nullable(Type.Integer()),
      error: textOrNull(),
      trigger: oneOf(ATTEMPT_TRIGGERS),
    }),
  }),
);

/** The data of each frame, by its `event`. */
const STREAM_FRAMES = {
  event: EventFrame,
  attempt: AttemptFrame,
  mode: EventFrame,
  alert: EventFrame,
  ready: named(
    "StreamReady",
    closed({ position: Type.String({ description: "The position at which the stream begins" }) }),
  ),
  gap: named(
    "StreamGap",
    closed({
      reason: oneOf(
        ["deleted", "unknown_position"],
        "`deleted`: events in between were deleted, by retention or by a user. `unknown_position`: the id belongs to " +
          "another store, or the store was restored from a backup since; the stream begins with new events",
      ),
      complete_since: nullable(
        Type.String({
          format: "date-time",
          description: "Nothing received since this time is missing; null means now",
        }),
      ),
    }),
  ),
  dropped: named(
    "StreamDropped",
    closed({ reason: oneOf(["too_slow", "stalled", "key_revoked", "store_fault"]), detail: Type.String() }),
  ),
  end: named(
    "StreamEnd",
    closed({ reason: oneOf(["shutting_down", "caught_up"], "`caught_up`: only with `follow=false`") }),
  ),
};

const ID = "3f9c0a71.0.0";

export const STREAM_DOCS: AreaDocs = {
  tag: "Stream",
  description: "A live stream of events, attempts, modes and alerts",
  operations: {
    "GET /api/v1/stream": {
      description:
        "Server-sent events. Each frame has an `id`. A client that reconnects with the last id as `Last-Event-ID` " +
        "gets " +
        "everything since then, and nothing twice, even after a restart of the gateway. `mode` and `alert` are " +
        "events of the " +
        "gateway itself and always include their payload. A comment with the current id is sent every 15 s. The data " +
        "of " +
        "each frame is one line of JSON; `x-frames` describes it for each `event`. `dropped` and `end` end a " +
        "connection.",
      query: { types: "event,attempt", follow: false },
      headers: {
        "Last-Event-ID": "The `id` of the last frame received; without it the stream begins with new events",
      },
      answer: {
        description: "Frames, until the client closes the connection",
        schema: Type.String({ "x-frames": STREAM_FRAMES }),
        contentType: "text/event-stream",
        example:
          `retry: 2000\nid: ${ID}\nevent: ready\ndata: {"position":"${ID}"}\n\n` +
          `id: ${ID}\nevent: end\ndata: {"reason":"caught_up"}\n\n`,
      },
      errors: ["not_found", "shutting_down"],
    },
  },
};
