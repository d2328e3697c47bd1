import { isAbsolute, normalize } from "node:path";
import { checkAllowedIps } from "../../model/addresses.ts";
import type { FieldProblem } from "../../model/subscription-rules.ts";
import { checkDestinationAuth } from "../destination-auth-rules.ts";
import { checkOwnHeaders } from "../own-headers.ts";
import { type BatchSettings, OF_CLICKHOUSE, OF_FILES, OF_POSTED } from "./settings.ts";

/** Parameters that the gateway sets, or that do not belong to an INSERT. */
const RESERVED =
  /^(?:query|user|password|database|role|quota_key|session_.*|param_.*|default_format|compress|decompress|insert_deduplication_token|wait_for_async_insert)$/;
const SETTING_NAME = /^[a-z][a-z0-9_]{0,127}$/;

export function checkBatchSettings(settings: BatchSettings): FieldProblem[] {
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
