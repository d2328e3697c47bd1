import { ALERT_RULE_NAMES, ALERT_SEVERITIES } from "../../model/alert-rules.ts";
import { readDuration } from "../read-value.ts";
import { ago, asText, at, type Field, type Format, type Row } from "./fields.ts";
import { flag, OF_TENANT } from "./flags.ts";
import type { Resource } from "./resource.ts";

const PATH = "/api/v1/alerts";

const HOUR_S = 3600;

/** The value with its unit; plain counts have none. */
function withUnit(value: unknown, unit: unknown): string | undefined {
  if (value === null || unit === "count") return asText(value);
  if (unit === "seconds" && Number(value) >= HOUR_S) return `${Number((Number(value) / HOUR_S).toFixed(1))} hours`;
  return `${asText(value)} ${asText(unit)}`;
}

const VALUE: Format = ([value, unit]) => withUnit(value, unit);

const STATUS: Format = ([status, acknowledged, isMuted]) =>
  [asText(status), ...(acknowledged === null ? [] : ["acknowledged"]), ...(isMuted === true ? ["muted"] : [])].join(
    ", ",
  );

const CAUSES: Format = ([causes, count]) => {
  const named = (causes as readonly Row[]).map(
    ({ cause, name, value, detail }) =>
      `${asText(name)}: ${asText(value)}${detail === null ? "" : `, ${asText(detail)}`} (${asText(cause)})`,
  );
  const others = Number(count) - named.length;
  return [...named, ...(others > 0 ? [`and ${others} more`] : [])];
};

const MUTES: Format = ([mutes]) =>
  (mutes as readonly Row[]).map(({ cause, until, by, note }) => {
    const end = until === null ? "until it is unmuted" : `until ${asText(until)}`;
    return `${asText(cause) ?? "the rule"} ${end}, by ${asText(by)}${note === null ? "" : `: ${asText(note)}`}`;
  });

const ACKNOWLEDGED: Format = ([acknowledged], moment) => {
  if (acknowledged === null) return undefined;
  const { at: when, by, note } = acknowledged as Row;
  return `${ago([when], moment)} by ${asText(by)}${note === null ? "" : `: ${asText(note)}`}`;
};

const NOTIFICATIONS: Format = ([list], moment) =>
  (list as readonly Row[]).map(({ event_type: type, event_id: id, at: when, delivered, open, dead }) => {
    const hasNoReceiver = [delivered, open, dead].every((count) => count === 0);
    const outcome = hasNoReceiver
      ? "no channel is subscribed to it"
      : `${asText(delivered)} delivered, ${asText(open)} open, ${asText(dead)} dead`;
    return `${asText(type)} ${ago([when], moment)}: ${outcome} (${asText(id)})`;
  });

const RULE_COLUMNS: readonly Field[] = [
  ["RULE", "rule"],
  ["ENABLED", "enabled"],
  ["SEVERITY", "severity"],
  ["BAD", "bad threshold unit", ([bad, threshold, unit]) => `${asText(bad)} ${withUnit(threshold, unit)}`],
  ["NOW", "worst_value unit", VALUE],
  ["BAD NOW", "bad_now"],
  ["ACTIVE ALERT", "active_alert"],
];

const CAUSE = flag("--cause <cause>", "only this cause, as `show` names it");
const NOTE = flag("--note <text>", "why, for people");

export const RESOURCE: Resource = {
  path: PATH,
  key: "id",
  expendable: ["TENANT", "ACTIVE ALERT", "SINCE"],
  columns: [
    ["ALERT", "id"],
    ["SEVERITY", "severity"],
    ["STATUS", "status acknowledged muted", STATUS],
    ["SINCE", "fired_at", ago],
    ["TENANT", "tenant_id"],
    ["WHAT", "summary"],
  ],
  facts: [
    ["alert", "id"],
    ["status", "status acknowledged muted", STATUS],
    ["value", "value unit", VALUE],
    ["causes", "causes count", CAUSES],
    ["fired", "fired_at", at],
    ["acknowledged", "acknowledged", ACKNOWLEDGED],
    ["cleared", "cleared_at", at],
    ["mutes", "mutes", MUTES],
    ["told", "told", NOTIFICATIONS],
  ],
  actions: {
    list: {
      help: "list alerts of the whole gateway or of one tenant, latest first",
      flags: [
        OF_TENANT,
        flag("--status <status>", "only those", { choices: ["active", "cleared"] }),
        flag("--rule <rule>", "only of this rule", { choices: ALERT_RULE_NAMES }),
        flag("--severity <severity>", "only those", { choices: ALERT_SEVERITIES }),
      ],
    },
    show: { help: "show an alert with its causes, and who was notified" },
    acknowledge: { help: "acknowledge an alert: no more notifications until it is cleared", flags: [NOTE] },
    mute: {
      help: "mute its rule for a time, or until it is unmuted; or only one of its causes",
      flags: [flag("--for <time>", "for how long: 30m, 8h, 7d", { field: "for_s", read: readDuration }), CAUSE, NOTE],
    },
    unmute: { help: "end a mute", flags: [CAUSE] },
    rules: {
      help: "list the rules with their thresholds and current findings",
      takes: "",
      path: () => `${PATH}/rules`,
      columns: RULE_COLUMNS,
    },
  },
  notes: `

Examples:
  posthorn alerts
  posthorn alerts acknowledge alr_… --note "the partner knows"
  posthorn alerts mute alr_… --for 8h
  posthorn alerts mute alr_… --cause "subscription sub_…"
  posthorn alerts rules`,
};
