import { usageFailure } from "./failure.ts";
import { readObject } from "./read-document.ts";
import { readCount } from "./read-number.ts";

/** Flags for what a target is set to; `none` takes a setting away. */
export interface TargetSettingFlags {
  file?: string;
  preset?: string;
  to?: string;
  healthUrl?: string;
  healthInterval?: string;
  failuresToOpen?: string;
  successesToClose?: string;
  batchSize?: string;
  idleWait?: string;
  maxBytes?: string;
  description?: string;
}

const MAX_COUNT = 1_000_000_000;

/** What the file says, and over it what the flags say. */
export function readTargetInput(flags: TargetSettingFlags): Record<string, unknown> {
  const given: Record<string, unknown> = {
    preset: orNone(flags.preset),
    url: orNone(flags.to),
    health_url: orNone(flags.healthUrl),
    health_interval_s: readSeconds("--health-interval", flags.healthInterval),
    failures_to_open: readWhole("--failures-to-open", flags.failuresToOpen),
    successes_to_close: readWhole("--successes-to-close", flags.successesToClose),
    batch_size: readWhole("--batch-size", flags.batchSize),
    idle_wait_s: readSeconds("--idle-wait", flags.idleWait),
    max_bytes: readWhole("--max-bytes", flags.maxBytes),
    description: orNone(flags.description),
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...(flags.file === undefined ? {} : readObject(flags.file)), ...Object.fromEntries(set) };
}

function orNone(text: string | undefined): string | null | undefined {
  return text === "none" ? null : text;
}

function readWhole(flag: string, text: string | undefined): number | null | undefined {
  if (text === undefined || text === "none") return text === undefined ? undefined : null;
  return readCount(flag, text, { min: 0, max: MAX_COUNT });
}

function readSeconds(flag: string, text: string | undefined): number | null | undefined {
  if (text === undefined || text === "none") return text === undefined ? undefined : null;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw usageFailure(`${flag}: "${text}" is no number of seconds.`);
}
