import type { Random } from "./clock.ts";
import { findRfc3339 } from "./rfc3339.ts";
import {
  EARLIER_POLICY_NAMES,
  USUAL_RETRIES,
  type RetryPolicyName,
  type RetryPolicySpec,
  type SharedSettings,
} from "./subscription.ts";

/** The waits between attempts; there is one attempt more than there are waits. */
export type RetryPolicy = { readonly delaysMs: readonly number[] };

const JITTER = 0.2;
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

const MINUTE_S = 60;
const HOUR_S = 3600;

const BURSTS = 10;
/** Attempts at 0, 1 and 4 s of a burst, then 30 s until the next one; no wait after the last attempt. */
const BURST_DELAYS_S = Array.from({ length: BURSTS }, () => [1, 3, 30])
  .flat()
  .slice(0, -1);

const NAMED_POLICIES: Readonly<Record<RetryPolicyName, RetryPolicy>> = {
  standard: fromSeconds([
    5,
    5 * MINUTE_S,
    30 * MINUTE_S,
    2 * HOUR_S,
    5 * HOUR_S,
    10 * HOUR_S,
    14 * HOUR_S,
    20 * HOUR_S,
    24 * HOUR_S,
  ]),
  few: fromSeconds([30, 2 * MINUTE_S, 10 * MINUTE_S]),
  short: fromSeconds([30, 30, 30, 30]),
  bursts: fromSeconds(BURST_DELAYS_S),
};

type GivenPolicy = NonNullable<SharedSettings["retry_policy"]>;

/** The policy in the configuration: a name, or waits in seconds. */
export function toRetryPolicySpec(given: Extract<GivenPolicy, string> | readonly number[]): RetryPolicySpec {
  return typeof given === "string" ? withoutEarlierName(given) : { delays_s: [...given] };
}

function withoutEarlierName(given: GivenPolicy): RetryPolicySpec {
  const names: Readonly<Record<string, RetryPolicyName>> = EARLIER_POLICY_NAMES;
  return typeof given === "string" ? (names[given] ?? (given as RetryPolicyName)) : given;
}

export function resolveRetryPolicy(spec: RetryPolicySpec): RetryPolicy {
  return typeof spec === "string" ? NAMED_POLICIES[spec] : fromSeconds(spec.delays_s);
}

/** The longest time from the first attempt to the last, if no `Retry-After` asks for more. */
export function longestRetryMs(spec: RetryPolicySpec): number {
  return resolveRetryPolicy(spec).delaysMs.reduce((sum, delayMs) => sum + delayMs * (1 + JITTER), 0);
}

/** The policy that the settings give, in either form; `usual` is the default, or that of a preset. */
export function retryPolicyOf(
  input: Pick<SharedSettings, "retry_policy" | "retry_count" | "retry_interval">,
  usual: RetryPolicySpec = "standard",
): RetryPolicySpec {
  const { retry_policy: policy, retry_count: count, retry_interval: intervalS } = input;
  if (count === undefined && intervalS === undefined) return policy === undefined ? usual : withoutEarlierName(policy);
  return fixedInterval(count ?? USUAL_RETRIES.count, intervalS ?? USUAL_RETRIES.intervalS);
}

/** `retry_count` retries after the first attempt, each `retry_interval` seconds after the one before. */
export function fixedInterval(retryCount: number, retryIntervalS: number): RetryPolicySpec {
  return { delays_s: Array.from({ length: retryCount }, () => retryIntervalS) };
}

/**
 * How long to wait after a failed attempt, or undefined when it was the last. `attemptsMade` counts the attempts since
 * the delivery was created or replayed, from 1.
 */
export function nextDelayMs(
  policy: RetryPolicy,
  attemptsMade: number,
  random: Random,
  retryAfterMs = 0,
): number | undefined {
  const stepMs = policy.delaysMs[attemptsMade - 1];
  if (stepMs === undefined) return undefined;
  const jitteredMs = stepMs + Math.floor(stepMs * JITTER * random.next());
  return Math.max(jitteredMs, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}

/** The wait that a `Retry-After` header asks for; undefined when it is malformed or already past. */
export function parseRetryAfter(value: string | undefined, wallMs: number): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text) * 1000;
  const at = parseHttpDate(text, wallMs);
  return at === undefined || at <= wallMs ? undefined : at - wallMs;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** RFC 9110 §5.6.7: the preferred form and the two obsolete ones (RFC 850, asctime) that must be read as well. */
const DATE_FORMS = [
  /^[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/,
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/,
];

function parseHttpDate(text: string, wallMs: number): number | undefined {
  for (const form of DATE_FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const { day = "", month = "", year = "", time = "" } = parts;
    const fullYear = year.length === 4 ? year : fullYearOf(Number(year), wallMs);
    const monthNumber = String(MONTHS.indexOf(month) + 1).padStart(2, "0");
    return findRfc3339(`${fullYear}-${monthNumber}-${day.replace(" ", "0")}T${time}Z`);
  }
  return undefined;
}

/** A two-digit year that seems more than 50 years ahead is the most recent past one with those digits. */
function fullYearOf(twoDigits: number, wallMs: number): number {
  const thisYear = new Date(wallMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

function fromSeconds(delaysS: readonly number[]): RetryPolicy {
  return { delaysMs: delaysS.map((seconds) => Math.round(seconds * 1000)) };
}
