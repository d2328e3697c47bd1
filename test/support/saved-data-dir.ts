import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { ApiClient } from "./api-client.ts";

/** All that can be read of a gateway's configuration and log, in its own words. */
const LISTS = [
  "/api/v1/tenants",
  "/api/v1/keys",
  "/api/v1/event-types",
  "/api/v1/targets",
  "/api/v1/sources",
  "/api/v1/subscriptions",
  "/api/v1/events",
  "/api/v1/deliveries",
  "/api/v1/dead-letters",
  "/api/v1/replays",
  "/validations",
  "/validations/orders/versions",
  "/api/v1/sources/signed/requests",
];

export type Answers = Record<string, unknown>;

export async function readAnswers(client: ApiClient): Promise<Answers> {
  const answers: Answers = {};
  async function read(path: string): Promise<unknown> {
    const { status, text, json } = await client.get(path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
    answers[path] = withoutStartTimes(json);
    return json;
  }
  for (const path of LISTS) await read(path);
  const rowsOf = (path: string) => (answers[path] as { data: { id: string; event_id: string }[] }).data;
  for (const { event_id: id } of rowsOf("/api/v1/events")) await read(`/api/v1/events/${id}`);
  for (const { id } of rowsOf("/api/v1/deliveries")) await read(`/api/v1/deliveries/${id}`);
  for (const { id } of rowsOf("/api/v1/subscriptions")) await read(`/api/v1/subscriptions/${id}/secret`);
  return answers;
}

/** Each start takes over what is declared, and some versions say so. */
function withoutStartTimes(json: unknown): unknown {
  const dropped = (one: object) => "managed_by" in one && one.managed_by === "config" && { updated_at: undefined };
  const text = JSON.stringify(json, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value, ...dropped(value) } : value,
  );
  return JSON.parse(text);
}

export interface SavedDataDir {
  /** In unix milliseconds. */
  savedAt: number;
  yaml: string;
  /** What the gateway that wrote it answered. */
  answers: Answers;
  layInto(dataDir: string): void;
}

const SAVED = fileURLToPath(new URL("../saved/", import.meta.url));

export const listSavedDataDirs = () => readdirSync(SAVED);

export function loadSavedDataDir(name: string): SavedDataDir {
  const file = (part: string) => join(SAVED, name, part);
  const { savedAt, answers } = JSON.parse(readFileSync(file("answers.json"), "utf8")) as SavedDataDir;
  return {
    savedAt,
    answers,
    yaml: readFileSync(file("posthorn.yaml"), "utf8"),
    layInto(dataDir) {
      mkdirSync(dataDir, { recursive: true, mode: 0o700 });
      writeFileSync(join(dataDir, "posthorn.db"), gunzipSync(readFileSync(file("posthorn.db.gz"))), { mode: 0o600 });
      writeFileSync(join(dataDir, "master.key"), readFileSync(file("master.key")), { mode: 0o600 });
    },
  };
}
