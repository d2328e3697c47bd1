import { readFileSync } from "node:fs";
import { usageFailure } from "./failure.ts";
import { readObject } from "./read-document.ts";
import { readCount } from "./read-number.ts";

/** Flags for what a subscription is set to; everything else goes by `--file`. */
export interface SubscriptionFlags {
  file?: string;
  name?: string;
  to?: string;
  events?: string[];
  sources?: string[];
  filter?: string;
  format?: string;
  header?: string[];
  label?: string[];
  timeout?: string;
  rateLimit?: string;
  concurrency?: string;
  ordered?: boolean;
  onDeadHead?: string;
  suspendAfterDead?: string;
  suspendAfter?: string;
  resumeWhenHealthy?: string;
  maxAge?: string;
  retryPolicy?: string;
  retryDelays?: string;
  retryCount?: string;
  retryInterval?: string;
  target?: string;
  healthUrl?: string;
  healthInterval?: string;
  failuresToOpen?: string;
  successesToClose?: string;
  allowedIp?: string[];
  signatureHeader?: string;
  secretFile?: string;
  mode?: string;
  forwardHeader?: string[];
  allowOwnUrl?: boolean;
  description?: string;
}

/** What the file says, and over it what the flags say. */
export function readSubscriptionInput(flags: SubscriptionFlags): Record<string, unknown> {
  const given: Record<string, unknown> = {
    name: flags.name,
    url: flags.to,
    events: flags.events,
    sources: flags.sources?.join() === "none" ? null : flags.sources,
    event_filter: readFilter(flags.filter),
    format: flags.format,
    headers: flags.header?.join() === "none" ? null : readPairs("--header", flags.header, /^([^:\s]+):\s*(.*)$/s),
    labels: readPairs("--label", flags.label, /^([^=]+)=(.*)$/s),
    timeout: readNumber("--timeout", flags.timeout),
    rate_limit: readLimit("--rate-limit", flags.rateLimit),
    concurrency: readWhole("--concurrency", flags.concurrency),
    ordered: flags.ordered,
    on_dead_head: flags.onDeadHead,
    suspend_after_dead: readLimit("--suspend-after-dead", flags.suspendAfterDead),
    suspend_after_s: readLimit("--suspend-after", flags.suspendAfter),
    resume_when_healthy: readYesNo("--resume-when-healthy", flags.resumeWhenHealthy),
    max_age_s: readLimit("--max-age", flags.maxAge),
    retry_policy: readRetryPolicy(flags),
    retry_count: readWhole("--retry-count", flags.retryCount),
    retry_interval: readNumber("--retry-interval", flags.retryInterval),
    target: flags.target === "none" ? null : flags.target,
    health_url: flags.healthUrl === "none" ? null : flags.healthUrl,
    health_interval_s: readNumber("--health-interval", flags.healthInterval),
    failures_to_open: readWhole("--failures-to-open", flags.failuresToOpen),
    successes_to_close: readWhole("--successes-to-close", flags.successesToClose),
    allowed_ips: flags.allowedIp,
    signature_header: flags.signatureHeader,
    secret: readSecret(flags.secretFile),
    mode: flags.mode,
    forward_headers: flags.forwardHeader,
    allow_own_url: flags.allowOwnUrl,
    description: flags.description,
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...(flags.file === undefined ? {} : readObject(flags.file)), ...Object.fromEntries(set) };
}

function readFilter(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  if (text === "none") return null;
  if (text.startsWith("@")) return readObject(text.slice(1));
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usageFailure("--filter: write a JSON object, @FILE, or none.");
  }
}

function readPairs(flag: string, pairs: readonly string[] | undefined, form: RegExp) {
  if (pairs === undefined) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value = ""] = form.exec(pair) ?? [];
      // The value may be a secret: only the name is repeated.
      if (name === undefined) throw usageFailure(`${flag}: one of them has no name and value.`);
      return [name.trim(), value];
    }),
  );
}

function readRetryPolicy({ retryPolicy, retryDelays }: SubscriptionFlags): unknown {
  if (retryDelays === undefined) return retryPolicy;
  if (retryPolicy !== undefined) throw usageFailure("--retry-policy and --retry-delays are two ways; choose one.");
  return { delays_s: retryDelays.split(",").map((delay) => readNumber("--retry-delays", delay.trim())) };
}

function readYesNo(flag: string, text: string | undefined): boolean | undefined {
  if (text === undefined || text === "yes" || text === "no") return text === undefined ? undefined : text === "yes";
  throw usageFailure(`${flag}: write yes or no, not ${text}.`);
}

function readLimit(flag: string, text: string | undefined): number | null | undefined {
  return text === "none" ? null : readWhole(flag, text);
}

function readWhole(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : readCount(flag, text, { min: 0, max: 1_000_000_000 });
}

function readNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw usageFailure(`${flag}: "${text}" is no number of seconds.`);
}

function readSecret(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8").trim();
  } catch (error) {
    throw usageFailure(`Cannot read ${path} (${(error as NodeJS.ErrnoException).code}).`);
  }
}
