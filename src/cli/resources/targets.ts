import { MODES, TargetChange, TargetInput } from "../../model/target.ts";
import { countOf } from "../output.ts";
import { ago, asText, at, type Field } from "./fields.ts";
import { FILE, flag, IDEMPOTENCY_KEY, IF_MATCH, OF_TENANT, OWNER } from "./flags.ts";
import type { Resource } from "./resource.ts";
import { flagsOf, type Exceptions } from "./schema-flags.ts";

const EXCEPTIONS: Exceptions = {
  name: null,
  tenant_id: null,
  preset: { flag: "--preset <name>" },
  url: { flag: "--to <url>" },
  description: { flag: "--description <text>", help: "for people" },
};

const WHOSE = flag(
  "--tenant <tenant>",
  "the target of this tenant, when several tenants have a target with that name",
  { field: "tenant_id", place: "query" },
);

const MODE: Field[2] = ([mode, forced]) => (forced === null ? asText(mode) : `${asText(mode)} (by hand)`);

export const RESOURCE: Resource = {
  path: "/api/v1/targets",
  key: "name",
  columns: [
    ["TARGET", "name"],
    ["TENANT", "tenant_id"],
    ["MODE", "mode forced", MODE],
    ["SINCE", "since", ago],
    ["HEALTH", "condition"],
    ["WAITING", "queue_length"],
    ["FAILURES", "failures"],
    ["LAST ERROR", "last_error"],
  ],
  facts: [
    ["target", "name"],
    ["subscriptions", "subscriptions shared", ([ids, isShared]) => (isShared === true ? asText(ids) : undefined)],
    ["health", "condition"],
    ["mode", "mode forced", MODE],
    ["since", "since", at],
    ["checked", "checked_at", ago],
    ["waiting", "queue_length", ([count]) => countOf(Number(count), "delivery", "deliveries")],
  ],
  actions: {
    list: { help: "list targets, shared ones first", flags: [OF_TENANT] },
    show: {
      help: "show a target; a subscription's own target can also be given by the subscription's id",
      flags: [WHOSE],
    },
    create: {
      help: "create a target that several subscriptions share",
      flags: [FILE, ...flagsOf(TargetInput, EXCEPTIONS, true), OWNER, IDEMPOTENCY_KEY],
    },
    update: {
      help: "change the given settings and keep the rest; none removes a setting",
      flags: [FILE, ...flagsOf(TargetChange, EXCEPTIONS, false), WHOSE, IF_MATCH],
    },
    delete: { help: "delete a target that nobody sends to", flags: [WHOSE] },
    mode: {
      help: "set its mode, or let its health decide again",
      takes: "<name> <mode>",
      choices: { of: [...MODES, "auto"], help: "auto lets its health decide" },
      flags: [WHOSE],
      body: ({ args }) => ({ mode: args[1] }),
    },
  },
  notes: `

Examples:
  posthorn targets create n8n-home --preset n8n --to https://automation.example
  posthorn targets update n8n-home --failures-to-open 5
  posthorn targets mode n8n-home QUEUE
  posthorn targets mode n8n-home auto
  posthorn targets show sub_…`,
};
