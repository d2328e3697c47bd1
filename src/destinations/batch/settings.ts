import { Type, type Static } from "typebox";
import { MASK } from "../../model/secrets.ts";
import { fillIn, oneOf, withDefault } from "../../model/shape.ts";
import { type DestinationAuth, toDestinationAuth } from "../destination-auth.ts";
import type { RetryOn } from "../classify-answer.ts";
import { REQUEST_SETTINGS } from "../request-settings.ts";
import type { PreparedDestination } from "../sender.ts";
import { BATCH_SECRETS } from "./secrets.ts";

const MIB = 1_048_576;

/** The settings of a destination of the kind batch: rows are posted to a URL or appended to files. */
export const BatchSettings = Type.Object(
  {
    url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: "The URL that batches are posted to",
        examples: ["https://clickhouse.example.com:8443/"],
      }),
    ),
    path: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description: "Or the absolute path of a file inside `batch_dir` that rows are appended to; only for operators",
        examples: ["/var/lib/posthorn-batches/orders.ndjson"],
      }),
    ),
    format: withDefault(
      oneOf(["ndjson", "clickhouse"], {
        description: "`ndjson`: one row per line; `clickhouse`: the same rows as an INSERT through its HTTP interface",
      }),
      "ndjson",
    ),
    table: Type.Optional(
      Type.String({
        pattern: "^[A-Za-z_][A-Za-z0-9_]{0,126}(\\.[A-Za-z_][A-Za-z0-9_]{0,126})?$",
        description: "With `clickhouse`: where rows are inserted, `table` or `database.table`",
        examples: ["analytics.events"],
      }),
    ),
    settings: withDefault(
      Type.Record(Type.String(), Type.Union([Type.String({ maxLength: 200 }), Type.Number(), Type.Boolean()]), {
        maxProperties: 50,
        description: "With `clickhouse`: settings of the INSERT, for example `async_insert: 1`",
      }),
      {},
    ),
    rows: withDefault(
      oneOf(["event", "payload"], { description: "What a row contains: the event with its data, or only its payload" }),
      "event",
    ),
    max_rows: withDefault(
      Type.Integer({ minimum: 1, maximum: 10_000, description: "Maximum number of rows in a batch" }),
      500,
    ),
    max_bytes: withDefault(
      Type.Integer({
        minimum: 1024,
        maximum: 64 * MIB,
        description: "Maximum size of all event bodies in a batch, in bytes; a larger event is sent alone",
      }),
      MIB,
    ),
    linger_s: withDefault(
      Type.Number({ minimum: 0, maximum: 300, description: "How long a batch waits for more rows, in seconds" }),
      1,
    ),
    gzip: withDefault(Type.Boolean({ description: "Compress the posted rows" }), false),
    rotate_bytes: withDefault(
      Type.Integer({
        minimum: 1024,
        maximum: 1024 * 1024 * MIB,
        description: "With `path`: a new file begins at this size, in bytes",
      }),
      64 * MIB,
    ),
    rotate_s: withDefault(
      Type.Number({
        minimum: 1,
        maximum: 31_536_000,
        description: "With `path`: a new file begins at this age, in seconds",
      }),
      3600,
    ),
    ...REQUEST_SETTINGS,
  },
  { additionalProperties: false },
);
export type BatchSettings = Static<typeof BatchSettings>;

/** The settings as the senders use them: with defaults, decrypted, only in memory. */
export interface BatchDestination {
  readonly rows: "event" | "payload";
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly lingerMs: number;
  readonly to: PostedTo | FileTo;
}

export interface PostedTo {
  readonly url: string;
  /** Set when the destination is ClickHouse. */
  readonly insert: { readonly table: string; readonly settings: Readonly<Record<string, string>> } | undefined;
  readonly gzip: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: DestinationAuth | undefined;
  readonly allowedIps: readonly string[] | undefined;
  readonly retryOn: RetryOn;
  readonly allowOwnUrl: boolean;
}

export interface FileTo {
  readonly path: string;
  readonly rotateBytes: number;
  readonly rotateMs: number;
}

export function prepareBatch(settings: BatchSettings): PreparedDestination {
  const set = fillIn(BatchSettings.properties, settings);
  const to: PostedTo | FileTo =
    set.path === null
      ? {
          url: set.url ?? "",
          insert: set.format === "clickhouse" ? { table: set.table ?? "", settings: toTexts(set.settings) } : undefined,
          gzip: set.gzip,
          headers: set.headers ?? {},
          auth: toDestinationAuth(set.auth),
          allowedIps: set.allowed_ips ?? undefined,
          retryOn: {
            statuses: set.retry_on?.statuses ?? [],
            sourceStatuses: [],
            bodyContains: set.retry_on?.body_contains,
            bodyIs: undefined,
          },
          allowOwnUrl: set.allow_own_url,
        }
      : { path: set.path, rotateBytes: set.rotate_bytes, rotateMs: set.rotate_s * 1000 };
  const destination: BatchDestination = {
    rows: set.rows,
    maxRows: set.max_rows,
    maxBytes: set.max_bytes,
    lingerMs: set.linger_s * 1000,
    to,
  };
  return {
    destination,
    place: set.path === null ? (set.url ?? "") : `file:${set.path}`,
    needs: { request: false, details: set.rows === "event" },
  };
}

function toTexts(settings: Readonly<Record<string, string | number | boolean>>): Record<string, string> {
  const toText = (value: string | number | boolean) =>
    typeof value === "boolean" ? String(Number(value)) : `${value}`;
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, toText(value)]));
}

export const OF_POSTED = [
  "url",
  "format",
  "table",
  "settings",
  "gzip",
  "headers",
  "auth",
  "allowed_ips",
  "retry_on",
  "allow_own_url",
] as const;
export const OF_FILES = ["path", "rotate_bytes", "rotate_s"] as const;
export const OF_CLICKHOUSE = ["table", "settings"] as const;

/** Leaves out the settings that do not apply to this way of sending. */
export function presentBatch(settings: BatchSettings): Record<string, unknown> {
  const isFile = settings.path !== undefined;
  const foreign: readonly string[] = [
    ...(isFile ? OF_POSTED : OF_FILES),
    ...(settings.format === "clickhouse" ? [] : OF_CLICKHOUSE),
  ];
  const shown = fillIn(
    BatchSettings.properties,
    BATCH_SECRETS.mask(settings, () => MASK),
  );
  return Object.fromEntries(Object.entries(shown).filter(([field]) => !foreign.includes(field)));
}
