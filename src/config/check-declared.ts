import type { TSchema } from "typebox";
import { Value } from "typebox/value";
import {
  checkKindSettings,
  isChecked,
  settingsIn,
  createDestinationKinds,
  toQueueKinds,
  SubscriptionSchema,
} from "../destinations/kinds.ts";
import { LOG_CHANNEL, toChannelSubscription, type AlertChannel } from "../model/alert.ts";
import { checkConnectionInput, ConnectionInput } from "../model/connection.ts";
import { toContact, TenantInput } from "../model/tenant.ts";
import { DEFAULT_TENANT } from "../model/event.ts";
import { checkFallback, checkNoEvents, warnOfFallback, findForwardRival } from "../model/forward-rules.ts";
import { checkGate, checkHold } from "../model/hold-rules.ts";
import { retryPolicyOf, toRetryPolicySpec } from "../model/retry-policy.ts";
import { SourceInput, checkSourceInput } from "../model/source.ts";
import { DEFAULT_KIND, ownerOf, type RetryPolicySpec, type SubscriptionInput } from "../model/subscription.ts";
import { checkSharedSettings, type FieldProblem } from "../model/subscription-rules.ts";
import { TargetInput } from "../model/target.ts";
import { findSharedTarget, toTargetNames, isPresetName, checkTargetInput } from "../model/target-rules.ts";
import { AlertChannelSchema } from "./sections.ts";
import { findAt } from "./settings-tree.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkEventTypeInput, EventTypeInput } from "../model/event-type.ts";
import type { JsonSchema } from "./setting-schema.ts";
import { type Located, type Report, parseYaml } from "./parse-yaml.ts";
import { readValue } from "./read-value.ts";

/** Reports what is wrong with a field of a declared item. */
type Complain = (index: number, field: string, message: string) => void;

type Lists = Readonly<Record<string, unknown>>;

/** Reports what is wrong with the declared items, as far as their schemas cannot. */
export function checkDeclared(lists: Lists, complainOf: (list: string) => Complain): void {
  checkList<ConnectionInput>("connections", lists, complainOf, {
    schema: ConnectionInput,
    keyOf: ({ kind, name }) => [kind, name],
    unique: "name; names are unique per kind",
    check: checkConnectionInput,
  });
  const wellFormed = <Item>(list: string, schema: TSchema): Item[] =>
    (lists[list] as Item[]).filter((item) => Value.Check(schema, item));
  const subscriptions = wellFormed<SubscriptionInput>("subscriptions", SubscriptionSchema);
  const targets = wellFormed<TargetInput>("targets", TargetInput);
  const usual = toRetryPolicySpec(lists["default_retry_policy"] as Parameters<typeof toRetryPolicySpec>[0]);
  checkList<SourceInput>("sources", lists, complainOf, {
    schema: SourceInput,
    keyOf: ({ name }) => [name],
    unique: "name; names are unique",
    check: (item) => [...checkSourceInput(item), ...checkDeclaredHold(item, subscriptions, targets, usual)],
  });
  checkList<TargetInput>("targets", lists, complainOf, {
    schema: TargetInput,
    keyOf: nameInTenant,
    unique: "name; names are unique per tenant",
    check: checkTargetInput,
  });
  const targetKeys = new Set(targets.map((target) => JSON.stringify(nameInTenant(target))));
  checkList<SubscriptionInput>("subscriptions", lists, complainOf, {
    schema: SubscriptionSchema,
    keyOf: nameInTenant,
    unique: "name; names are unique per tenant",
    check: (item, before) => [
      ...checkRivals(item, before),
      ...checkDeclaredFallback(item, subscriptions, targets),
      ...checkTarget(item, targetKeys),
      ...checkSharedSettings(item),
      ...checkKindSettings(item, kinds),
    ],
  });
  checkList<AlertChannel>("alerts.channels", lists, complainOf, {
    schema: AlertChannelSchema,
    keyOf: ({ name }) => [name],
    unique: "name; names are unique",
    check: checkChannel,
  });
  checkList<TenantInput>("tenants", lists, complainOf, {
    schema: TenantInput,
    keyOf: ({ id }) => [id],
    unique: "id; ids are unique",
    check: ({ contacts = [] }) =>
      contacts.flatMap((contact, n) =>
        toContact(contact) === undefined
          ? [{ field: `contacts[${n}]`, message: "must have one of email, phone and url, and only one" }]
          : [],
      ),
  });
}

interface ListRules<Item> {
  schema: TSchema;
  keyOf: (item: Item) => readonly string[];
  /** The name of the unique field and its rule, for the message. */
  unique: string;
  /** `before`: the items above it in the list. */
  check: (item: Item, before: readonly Item[]) => readonly FieldProblem[];
}

/** Skips items that do not fit their schema, which were already reported. */
function checkList<Item>(
  list: string,
  lists: Lists,
  complainOf: (list: string) => Complain,
  { schema, keyOf, unique, check }: ListRules<Item>,
): void {
  const complain = complainOf(list);
  const seen = new Map<string, number>();
  const before: Item[] = [];
  for (const [index, given] of (findAt(lists, list.split(".")) as unknown[]).entries()) {
    if (!Value.Check(schema, given)) continue;
    const item = given as Item;
    const key = JSON.stringify(keyOf(item));
    const first = seen.get(key);
    const [field = ""] = unique.split(";");
    if (first !== undefined) complain(index, field, `${list}[${first}] has the same ${unique}`);
    seen.set(key, first ?? index);
    for (const { field, message } of check(item, before)) complain(index, field, message);
    before.push(item);
  }
}

const kinds = createDestinationKinds();

function checkChannel(channel: AlertChannel): readonly FieldProblem[] {
  if (channel.kind === LOG_CHANNEL) return [];
  const subscription = toChannelSubscription(channel);
  return [...checkSharedSettings(subscription), ...checkKindSettings(subscription, kinds)];
}

function nameInTenant(item: { name: string } & Pick<SubscriptionInput, "tenant_id" | "tenants">): readonly string[] {
  return [ownerOf(item), item.name];
}

/** With `ack: delivered` a message is held until it is delivered, so the target must be able to deliver in time. */
function checkDeclaredHold(
  { options = {}, tenant_id: tenantId = DEFAULT_TENANT }: SourceInput,
  subscriptions: readonly SubscriptionInput[],
  targets: readonly TargetInput[],
  usual: RetryPolicySpec,
): readonly FieldProblem[] {
  const isOfTenant = (one: Pick<SubscriptionInput, "tenant_id" | "tenants">) => ownerOf(one) === tenantId;
  const shared = targets.filter(isOfTenant);
  const findShared = (one: SubscriptionInput) => findSharedTarget(one, shared);
  const own = subscriptions.filter(isOfTenant);
  const names = toTargetNames(shared, own);
  // Without a name, the only target is meant.
  const [only] = names.length === 1 ? names : [];
  const meant = own.filter((one) => (findShared(one) ?? one).name === (options["target"] ?? only));
  const retried = meant.map((one) => ({ name: one.name, retryPolicy: findRetryPolicy(one, findShared(one), usual) }));
  return [...checkGate(options, names), ...checkHold(options, retried)];
}

function findRetryPolicy(input: SubscriptionInput, target: TargetInput | undefined, usual: RetryPolicySpec) {
  const kind = checkKindSettings(input, kinds).length > 0 ? undefined : kinds.findOf(input);
  const prepared = kind?.prepare(settingsIn(input, kind), { shared: input, target });
  return retryPolicyOf(input, prepared?.retryPolicy ?? usual);
}

/** All subscriptions are known here, so one without patterns that is nobody's fallback would get no event. */
function checkDeclaredFallback(
  item: SubscriptionInput,
  subscriptions: readonly SubscriptionInput[],
  targets: readonly TargetInput[],
): FieldProblem[] {
  const kind = kinds.findOf(item);
  if (kind === undefined || checkKindSettings(item, kinds).length > 0) return [];
  const queueKinds = toQueueKinds(kinds);
  const isOfTenant = (one: Pick<SubscriptionInput, "tenant_id" | "tenants">) => ownerOf(one) === ownerOf(item);
  const toFacts = (one: SubscriptionInput) => ({ ...one, kind: one.kind ?? DEFAULT_KIND });
  const others = subscriptions.filter((one) => one.name !== item.name && isOfTenant(one)).map(toFacts);
  const shared = targets.find((one) => one.name === item.target && isOfTenant(one));
  const facts = { ...toFacts(item), isChecked: isChecked(item, kind, shared) };
  const problems = [...checkNoEvents(facts, queueKinds), ...checkFallback(facts, others, queueKinds)];
  if (problems.length > 0 || item.events.length > 0) return problems;
  if (others.some(({ fallback }) => fallback === item.name)) return [];
  const message =
    "must name at least one pattern: it is not the fallback of another subscription, so it would get no event";
  return [{ field: "events", message }];
}

/** Warns of fallbacks that do not accept all events, by the names of their subscriptions. */
export function listFallbackWarnings(subscriptions: readonly SubscriptionInput[]): string[] {
  const queueKinds = toQueueKinds(kinds);
  return subscriptions.flatMap((one) =>
    warnOfFallback({ ...one, kind: one.kind ?? DEFAULT_KIND }, queueKinds).map((text) => `${one.name}: ${text}`),
  );
}

function checkRivals(item: SubscriptionInput, before: readonly SubscriptionInput[]): FieldProblem[] {
  const ofTenant = before.filter((one) => ownerOf(one) === ownerOf(item));
  const rival = findForwardRival(item, ofTenant);
  if (rival === undefined) return [];
  const message = `"${rival.name}" already forwards some of these events; a source waits for only one subscription`;
  return [{ field: "mode", message }];
}

function checkTarget(item: SubscriptionInput, targetKeys: ReadonlySet<string>): FieldProblem[] {
  const { target } = item;
  if (target === undefined || target === null || isPresetName(target)) return [];
  const key = JSON.stringify(nameInTenant({ ...item, name: target }));
  if (targetKeys.has(key)) return [];
  const message = `${JSON.stringify(target)} is neither n8n nor a target of its tenant`;
  return [{ field: "target", message }];
}

/** An event type from a file of its own, or from a list in a file. */
interface FileItem {
  /** `event-types/order.yaml:3:5`. */
  place: string;
  item: unknown;
}

const FILE_NAME = /\.(ya?ml|json)$/i;

/** JSON is read as yaml. Variables are not expanded: a schema may contain dollar signs. */
export function readEventTypesDir(folder: string | undefined, report: Report): FileItem[] {
  if (folder === undefined) return [];
  const unreadable = (path: string, error: unknown) => {
    const code = (error as NodeJS.ErrnoException).code ?? "error";
    report({ place: path, path: "", message: `cannot be read (${code}); check event_types_dir` });
  };
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => FILE_NAME.test(name));
  } catch (error) {
    unreadable(folder, error);
    return [];
  }
  return names.sort().flatMap((name) => {
    const path = join(folder, name);
    try {
      return readFile(path, readFileSync(path, "utf8"), report);
    } catch (error) {
      unreadable(path, error);
      return [];
    }
  });
}

function readFile(path: string, text: string, report: Report): FileItem[] {
  const file = parseYaml({ name: path, text }, undefined, report);
  if (file === undefined) return [];
  const list = file.entries.find(({ key }) => key === "event_types")?.value;
  if (list === undefined) return [readItem(file, report)];
  const [other] = file.entries.filter(({ key }) => key !== "event_types");
  if (other !== undefined) {
    report({
      place: other.keyPlace,
      path: other.key,
      message: "unknown key; a file contains one event type, or a list event_types",
    });
  }
  if (list.kind !== "list") {
    report({ place: list.place, path: "event_types", message: "expected a list of event types" });
    return [];
  }
  return list.items.map((item) => readItem(item, report));
}

function readItem(node: Located, report: Report): FileItem {
  return { place: node.place, item: readValue(EventTypeInput as unknown as JsonSchema, node, "event type", report) };
}

/** Skips items that do not fit their schema, which were already reported. */
export function checkDeclaredEventTypes(
  inline: readonly unknown[],
  inFiles: readonly FileItem[],
  complain: Complain,
  report: Report,
): void {
  const seen = new Set<string>();
  const check = (item: unknown, complainOf: (field: string, message: string) => void) => {
    if (!Value.Check(EventTypeInput, item)) return;
    if (seen.has(item.name)) complainOf("name", `${item.name} is declared twice; names are unique`);
    seen.add(item.name);
    for (const { field, message } of checkEventTypeInput(item)) complainOf(field, message);
  };
  for (const [index, item] of inline.entries()) check(item, (field, message) => complain(index, field, message));
  for (const { place, item } of inFiles) check(item, (path, message) => report({ place, path, message }));
}
