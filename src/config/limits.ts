import { Type } from "typebox";
import { MAX_RETENTION_DAYS } from "../domain/retention.ts";
import { withVariables } from "./setting-schema.ts";

const MIB = 1_048_576;

/** Bounds of the process: what it takes in, holds in memory and leaves free on the disk. */
export const Limits = Type.Object(
  withVariables("POSTHORN_", {
    max_connections: Type.Integer({
      default: 10_000,
      minimum: 1,
      maximum: 1_000_000,
      description:
        "Open inbound connections; for one more the one that has been idle for longest is closed, or where none is idle " +
        "the new one",
    }),
    max_connections_per_address: Type.Integer({
      default: 500,
      minimum: 1,
      maximum: 1_000_000,
      description:
        "The same for one address (of IPv6 a network of /64), and never more than half of `max_connections`; loopback " +
        "and `trusted_proxies` are not counted",
    }),
    headers_timeout_s: Type.Number({
      default: 10,
      minimum: 1,
      maximum: 600,
      description: "Seconds a sender has for the headers of a request",
    }),
    request_timeout_s: Type.Number({
      default: 30,
      minimum: 1,
      maximum: 3600,
      description: "Seconds a sender has for a whole request; not less than `headers_timeout_s`",
    }),
    max_body_bytes: Type.Integer({
      default: 2 * MIB,
      minimum: 1,
      maximum: 64 * MIB,
      description:
        "Largest body of a received webhook where its source sets no `max_bytes` and its kind takes no larger ones; " +
        "beyond it the answer is 413",
    }),
    max_depth: Type.Integer({
      default: 128,
      minimum: 1,
      maximum: 10_000,
      description: "Deepest nesting of a JSON or XML body; a deeper one gets 400",
    }),
    max_loop_lag_ms: Type.Integer({
      default: 200,
      minimum: 10,
      maximum: 60_000,
      description:
        "A process that runs later than this for a second without a break, while `max_unwritten_events` wait, answers " +
        "new requests with 503",
    }),
    max_unwritten_events: Type.Integer({
      default: 500,
      minimum: 1,
      maximum: 1_000_000,
      description: "Events received and not on disk yet that are a backlog; see `max_loop_lag_ms`",
    }),
    max_unanswered_bytes: Type.Integer({
      default: 512 * MIB,
      minimum: 1024,
      description: "Memory for bodies of requests that are not answered yet; beyond it new requests get 503",
    }),
    max_exports: Type.Integer({
      default: 8,
      minimum: 1,
      maximum: 1000,
      description: "Exports of events that run at the same time; more get 429",
    }),
    max_exports_per_key: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 1000,
      description: "The same with one key",
    }),
    max_streams: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 10_000,
      description: "Live streams that are open at the same time; more get 429",
    }),
    max_streams_per_key: Type.Integer({
      default: 25,
      minimum: 1,
      maximum: 10_000,
      description: "The same with one key",
    }),
    stream_buffer_bytes: Type.Integer({
      default: 4 * MIB,
      minimum: 65_536,
      maximum: 256 * MIB,
      description: "What may wait for one client of a live stream; one that reads more slowly is dropped, and told so",
    }),
    max_keys_per_tenant: Type.Integer({
      default: 200,
      minimum: 1,
      maximum: 100_000,
      description:
        "Live keys of one tenant, and of those that are bound to none; more get 409. Of revoked and expired ones the " +
        "latest so many are kept",
    }),
    shutdown_timeout_s: Type.Number({
      default: 10,
      minimum: 0,
      maximum: 600,
      description: "Seconds for attempts in flight to end after SIGTERM",
    }),
    disk_min_free_bytes: Type.Integer({
      default: 256 * MIB,
      minimum: 0,
      description: "With less space free in the data dir, new events get 503 while deliveries go on",
    }),
    ballast_bytes: Type.Integer({
      default: 16 * MIB,
      minimum: 0,
      description: "Size of a file kept in the data dir only to be given up when the disk is full",
    }),
    max_sockets: Type.Integer({
      default: 1024,
      minimum: 1,
      maximum: 65_535,
      description: "Open outbound connections, over all destinations",
    }),
    connections_per_host: Type.Integer({
      default: 100,
      minimum: 1,
      maximum: 65_535,
      description: "Open outbound connections to one destination host; a tenant uses at most three quarters",
    }),
    idle_connections_per_host: Type.Integer({
      default: 20,
      minimum: 0,
      maximum: 65_535,
      description: "Of those, how many are kept alive while nothing is sent over them",
    }),
    body_cache_bytes: Type.Integer({
      default: 64 * MIB,
      minimum: 0,
      description: "Memory for bodies that wait for delivery; beyond it a body is read again when it is sent",
    }),
    dedupe_horizon_days: Type.Number({
      default: 7,
      minimum: 1,
      maximum: 3650,
      description: "Days for which the id of an event is remembered",
    }),
    log_file_max_bytes: Type.Integer({
      default: 64 * MIB,
      minimum: 4096,
      description: "The log file is rotated before it grows beyond this",
    }),
    log_file_keep: Type.Integer({
      default: 5,
      minimum: 0,
      maximum: 1000,
      description: "Rotated log files kept beside the current one",
    }),
  }),
  { additionalProperties: false, default: {} },
);

function days(description: string) {
  return Type.Optional(Type.Number({ minimum: 0, maximum: MAX_RETENTION_DAYS, defaultText: "as `days`", description }));
}

/** How long what has ended is kept. */
export const Retention = Type.Object(
  withVariables("POSTHORN_RETENTION_", {
    days: Type.Number({
      default: 30,
      minimum: 0,
      maximum: MAX_RETENTION_DAYS,
      description:
        "Days for which events are kept, with all that belongs to them; 0 keeps them. What is open is never deleted. " +
        "Ids stay known for `limits.dedupe_horizon_days` in any case",
    }),
    answers_days: days(
      "The same for headers and bodies that destinations answered; the attempts themselves stay with their event",
    ),
    dead_letters_days: days(
      "The same for events with a dead letter, from the death of the last one; one that blocks its ordering key stays",
    ),
    refused_requests_days: days("The same for requests that made no event"),
    idempotency_keys_days: Type.Number({
      default: 7,
      minimum: 0,
      maximum: MAX_RETENTION_DAYS,
      description: "Days for which an `Idempotency-Key` of the API is remembered; 0 for ever",
    }),
    audit_days: Type.Number({
      default: 0,
      minimum: 0,
      maximum: MAX_RETENTION_DAYS,
      description: "Days for which entries of the audit log are kept; 0 for ever",
    }),
  }),
  { additionalProperties: false, default: {} },
);
