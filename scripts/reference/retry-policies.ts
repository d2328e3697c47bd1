import { longestRetryMs, resolveRetryPolicy } from "../../src/model/retry-policy.ts";
import { RETRY_POLICY_NAMES } from "../../src/model/subscription.ts";
import { generatedFrom } from "./generated-from.ts";

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

const MEANT_FOR: Readonly<Record<(typeof RETRY_POLICY_NAMES)[number], string>> = {
  standard: "Most destinations. It is the default.",
  few: "Partners that expect few attempts, as in the `smart-dairy` example.",
  short: "A destination that you forward to, such as n8n. It gives up after two minutes.",
  bursts: "10 bursts of 3 attempts, as in the `smartsheet-adapter` example.",
};

/** docs/reference/retry-policies.md, from the policies themselves. */
export function renderRetryPolicies(): string {
  return [
    "# Retry policies",
    "",
    generatedFrom("src/model/retry-policy.ts"),
    "",
    "A retry policy is the list of waits between one attempt and the next. A delivery that fails after the last wait",
    "becomes a dead letter. A policy with 9 waits makes up to 10 attempts.",
    "",
    "Up to 20 % is added to every wait at random, so that deliveries that failed together do not return together. A",
    "`Retry-After` header of the destination can make a wait longer, up to 24 hours. It never makes a wait shorter.",
    "",
    "Set a policy on a subscription with `retry_policy`: one of the names below, or your own list of seconds, such as",
    "`{ delays_s: [1, 5, 30] }`. `retry_count` and `retry_interval` set a fixed wait instead.",
    "`POSTHORN_DEFAULT_RETRY_POLICY` sets the policy of all subscriptions that do not name one.",
    "",
    "While a target is in [QUEUE](../explanation/modes.md), its deliveries wait. Only the one that is sent to",
    "find out whether the target is back uses up an attempt.",
    "",
    ...RETRY_POLICY_NAMES.flatMap(renderPolicy),
  ].join("\n");
}

function renderPolicy(name: (typeof RETRY_POLICY_NAMES)[number]): string[] {
  const { delaysMs } = resolveRetryPolicy(name);
  let sinceFirst = 0;
  const rows = delaysMs.map((delayMs, index) => {
    sinceFirst += delayMs;
    return `| ${index + 2} | ${formatDuration(delayMs)} | ${formatDuration(sinceFirst)} |`;
  });
  return [
    `## ${name}`,
    "",
    `${MEANT_FOR[name]} ${delaysMs.length + 1} attempts; the last one comes between ${formatDuration(sinceFirst)} and`,
    `${formatDuration(longestRetryMs(name))} after the first.`,
    "",
    "| attempt | wait before it | after the first attempt |",
    "|---|---|---|",
    "| 1 | none | 0 s |",
    ...rows,
    "",
  ];
}

/** `2 h 5 min 5 s`. */
function formatDuration(durationMs: number): string {
  let left = Math.round(durationMs / 1000) * 1000;
  const parts = UNITS.flatMap(([unit, lengthMs]) => {
    const count = Math.floor(left / lengthMs);
    left -= count * lengthMs;
    return count === 0 ? [] : [`${count} ${unit}`];
  });
  return parts.join(" ") || "0 s";
}
