import { OWN_EVENT_DOCS, type OwnEventDocs } from "../../src/api/openapi/own-events.ts";
import { generatedFrom } from "./generated-from.ts";

interface Member {
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Member[];
  readonly format?: string;
}

/** docs/reference/own-events.md, from the API reference. */
export function renderOwnEvents(): string {
  return [
    "# Events of the gateway",
    "",
    generatedFrom("src/api/openapi/own-events.ts"),
    "",
    "The gateway publishes events about itself: a subscription was suspended, a target went down, an alert fired. They",
    "are stored, searched, signed and delivered like all other events.",
    "",
    "- Each one belongs to the tenant that it is about. Events about the whole gateway belong to the tenant `_gateway`.",
    "- A subscription gets them only if one of its patterns names them: `webhook.suspended`, `webhook.*`, `gateway.#`.",
    "  The patterns `*` and `#` do not include them.",
    "- A failure to deliver one of them publishes no further event.",
    "- Quotas of a tenant do not apply to them.",
    "",
    "`/docs` of a running gateway shows the same with types. [When deliveries fail](../explanation/failures.md) explains",
    "when a subscription is suspended, and [alerts](alerts.md) lists the rules behind `alert.fired`.",
    "",
    "| event | what has happened |",
    "|---|---|",
    ...OWN_EVENT_DOCS.map(({ type, summary }) => `| [\`${type}\`](#${anchorOf(type)}) | ${summary} |`),
    "",
    ...OWN_EVENT_DOCS.flatMap(renderEvent),
  ].join("\n");
}

function renderEvent({ type, summary, description, schema, example }: OwnEventDocs): string[] {
  const { properties = {} } = schema as { properties?: Record<string, Member> };
  const rows = Object.entries(properties).map(
    ([name, member]) => `| \`${name}\` | ${typeOf(member)} | ${(describe(member) ?? "").replaceAll("|", "\\|")} |`,
  );
  return [
    `## ${type}`,
    "",
    `${summary}.${description === "" ? "" : ` ${description}`}`,
    "",
    "| member of `data` | type | meaning |",
    "|---|---|---|",
    ...rows,
    "",
    "```json",
    JSON.stringify(example, undefined, 2),
    "```",
    "",
  ];
}

function describe({ description, anyOf = [] }: Member): string | undefined {
  return description ?? anyOf.map(describe).find((one) => one !== undefined);
}

function typeOf({ type, enum: values, const: only, anyOf, format }: Member): string {
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(" or ");
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (only !== undefined) return `\`${String(only)}\``;
  return format === "date-time" ? "time" : (type ?? "any");
}

function anchorOf(type: string): string {
  return type.replaceAll(".", "");
}
