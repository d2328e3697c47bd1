import { Type } from "typebox";
import { ATTEMPT_RESULTS } from "../../domain/outcome.ts";
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

export const EventFrame = named(
  "StreamEvent",
  extended(Event, {
    request: EventRequest,
    ...Payload,
    payload_omitted: Type.Optional(
      Type.Boolean({ description: "With `body`: it is larger than 256 KiB; read the event for it" }),
    ),
  }),
);

export const AttemptFrame = named(
  "StreamAttempt",
  extended(Delivery, {
    source: text("api", "Of the event"),
    subscription_name: textOrNull("Null where the subscription was deleted"),
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
  ready: named("StreamReady", closed({ position: Type.String({ description: "Where the stream begins" }) })),
  gap: named(
    "StreamGap",
    closed({
      reason: oneOf(
        ["deleted", "unknown_position"],
        "`deleted`: events that lay in between are gone, by retention or by hand; `unknown_position`: the id is of " +
          "another store, or of one that was put back from a backup since, and the stream begins with what comes next",
      ),
      complete_since: nullable(
        Type.String({
          format: "date-time",
          description: "Nothing that came in since then is missing; null: as of now",
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
  description: "What happens, as it happens",
  operations: {
    "GET /api/v1/stream": {
      description:
        "Server-sent events. Each frame has an `id`; whoever comes back with the last one as `Last-Event-ID` gets " +
        "everything since, also after a restart of the gateway, and nothing twice. `mode` and `alert` are events of the " +
        "gateway itself and always have their payload. Every 15 s comes a comment with the current id. The data of each " +
        "frame is one line of JSON, by its `event` as in `x-frames`. `dropped` and `end` are the last of a connection.",
      query: { types: "event,attempt", follow: false },
      headers: {
        "Last-Event-ID": "The `id` of the last frame that came; without it the stream begins with what comes next",
      },
      answer: {
        description: "Frames, for as long as the client reads them",
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
