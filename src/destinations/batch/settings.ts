import { Type, type Static } from "typebox";
import { MASK } from "../../model/secrets.ts";
import { fillIn, oneOf, withDefault } from "../../model/shape.ts";
import {
  type DestinationAuthInput,
  REQUEST_SETTINGS,
  checkDestinationAuth,
  checkOwnHeaders,
} from "../request-settings.ts";
import type { RetryOn } from "../classify-answer.ts";
import type { PreparedDestination, DestinationKind } from "../destination-kind.ts";
import { createUrlSecrets } from "../secret-settings.ts";
import { isAbsolute, normalize } from "node:path";
import { checkAllowedIps } from "../../model/addresses.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import { presentOwnRecord } from "../own-record.ts";

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
  readonly auth: DestinationAuthInput | undefined;
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
          auth: set.auth ?? undefined,
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

const OF_POSTED = [
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
const OF_FILES = ["path", "rotate_bytes", "rotate_s"] as const;
const OF_CLICKHOUSE = ["table", "settings"] as const;

/** Leaves out the settings that do not apply to this way of sending. */
function presentBatch(settings: BatchSettings): Record<string, unknown> {
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

/** The same secrets as those of http; a file has none. */
const BATCH_SECRETS = createUrlSecrets<BatchSettings>("destination.");

/** Parameters that the gateway sets, or that do not belong to an INSERT. */
const RESERVED =
  /^(?:query|user|password|database|role|quota_key|session_.*|param_.*|default_format|compress|decompress|insert_deduplication_token|wait_for_async_insert)$/;
const SETTING_NAME = /^[a-z][a-z0-9_]{0,127}$/;

function checkBatchSettings(settings: BatchSettings): FieldProblem[] {
  const { url, path } = settings;
  if ((url === undefined) === (path === undefined)) {
    return [{ field: "url", message: "give a url or a path, not both" }];
  }
  return path === undefined ? checkPosted(settings, url ?? "") : checkFile(settings, path);
}

function checkPosted(settings: BatchSettings, url: string): FieldProblem[] {
  const { format, table, headers = {} } = settings;
  const problems = refuse(settings, OF_FILES, "is only for a path, and this destination has a url");
  if (format !== "clickhouse") problems.push(...refuse(settings, OF_CLICKHOUSE, "is only for the format clickhouse"));
  else if (table === undefined)
    problems.push({ field: "table", message: "is missing; the format clickhouse needs it" });
  return [
    ...problems,
    ...checkInsertSettings(settings),
    ...checkOwnHeaders(headers),
    ...checkIdempotencyKey(headers),
    ...checkAllowedIps(settings.allowed_ips, url),
    ...checkDestinationAuth(settings.auth, headers ?? {}),
  ];
}

function checkFile(settings: BatchSettings, path: string): FieldProblem[] {
  const problems = refuse(settings, OF_POSTED, "is only for a url, and this destination has a path");
  if (!isAbsolute(path) || normalize(path) !== path || path.endsWith("/") || path.includes("\0")) {
    problems.push({ field: "path", message: "must be the absolute path of a file, without `.` and `..`" });
  }
  return problems;
}

function checkInsertSettings({ settings = {} }: BatchSettings): FieldProblem[] {
  return Object.keys(settings).flatMap((name) => {
    if (!SETTING_NAME.test(name))
      return [{ field: "settings", message: `${JSON.stringify(name)} is not a valid setting` }];
    return RESERVED.test(name) ? [{ field: `settings.${name}`, message: "is set by the gateway" }] : [];
  });
}

function checkIdempotencyKey(headers: BatchSettings["headers"]): FieldProblem[] {
  const name = Object.keys(headers ?? {}).find((one) => one.toLowerCase() === "idempotency-key");
  return name === undefined ? [] : [{ field: `headers.${name}`, message: "is set by the gateway" }];
}

function refuse(settings: BatchSettings, fields: readonly (keyof BatchSettings)[], message: string): FieldProblem[] {
  return fields.filter((field) => settings[field] !== undefined).map((field) => ({ field, message }));
}

/** Analytics: events are collected and sent as rows of JSON to a URL, to ClickHouse or to files. */
export const BATCH: DestinationKind<BatchSettings> = {
  name: "batch",
  settings: BatchSettings,
  operatorOnly: OF_FILES,
  check: checkBatchSettings,
  prepare: prepareBatch,
  secrets: BATCH_SECRETS,
  present: presentBatch,
  presentRecord: presentOwnRecord,
};
