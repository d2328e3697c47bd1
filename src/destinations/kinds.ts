import type { QueueKinds } from "../model/forward-rules.ts";
import { DEFAULT_KIND, type SubscriptionInput, SharedSettings } from "../model/subscription.ts";
import { BATCH } from "./batch/settings.ts";
import { EMAIL } from "./email/settings.ts";
import { HTTP } from "./http/settings.ts";
import { AMQP } from "./queue/amqp.ts";
import { AZURE_SERVICE_BUS, AZURE_STORAGE_QUEUE } from "./queue/azure.ts";
import { SMS } from "./sms/settings.ts";
import type { DestinationKind, PreparedDestination } from "./destination-kind.ts";
import { Type, type TProperties } from "typebox";
import { Value } from "typebox/value";
import type { Template } from "../sandbox/templates/templates.ts";
import { describeSchemaError } from "../model/shape.ts";
import type { FieldProblem } from "../model/subscription-rules.ts";
import type { TargetInput } from "../model/target.ts";
import { findHealth, findPreset } from "../model/target-rules.ts";

/** All kinds of destinations. To add one, add a line here. */
export const KINDS: readonly DestinationKind[] = [
  HTTP,
  EMAIL,
  SMS,
  BATCH,
  AMQP,
  AZURE_SERVICE_BUS,
  AZURE_STORAGE_QUEUE,
];

export type DestinationKinds = ReturnType<typeof createDestinationKinds>;

export function createDestinationKinds(more: readonly DestinationKind[] = []) {
  const byName: ReadonlyMap<string, DestinationKind> = new Map([...KINDS, ...more].map((kind) => [kind.name, kind]));
  return {
    find: (name: string) => byName.get(name),
    /** The kind that an input names. */
    findOf: ({ kind = DEFAULT_KIND }: Pick<SubscriptionInput, "kind">) => byName.get(kind),
    list: (): readonly DestinationKind[] => [...byName.values()],
  };
}

export function toQueueKinds(kinds: DestinationKinds): QueueKinds {
  return {
    isQueue: (kind) => kinds.find(kind)?.queue !== undefined,
    isCountable: ({ kind, destination }) => kinds.find(kind)?.queue?.isCountable(destination ?? {}) !== false,
    maxBytesOf: ({ kind, destination }) => kinds.find(kind)?.queue?.maxBytesOf(destination ?? {}),
  };
}

/**
 * All settings that a user may give, in the API and in posthorn.yaml alike. Settings inside `destination` are not
 * included: they are checked when the kind is known.
 */
export const SUBSCRIPTION_FIELDS: TProperties = { ...SharedSettings.properties, ...flatSettings() };

/** The required settings of the default kind. */
const usual = {
  if: { properties: { kind: { not: { const: DEFAULT_KIND } } }, required: ["kind"] },
  else: { required: KINDS.find(({ name }) => name === DEFAULT_KIND)?.settings.required ?? [] },
};

export const SubscriptionSchema = Type.Unsafe<SubscriptionInput>(
  Type.Object(SUBSCRIPTION_FIELDS, { additionalProperties: false, ...usual }),
);

/** All optional, because no setting is required by every kind. */
function flatSettings(): TProperties {
  const flat = KINDS.filter(({ isFlat }) => isFlat === true);
  const fields = flat.flatMap(({ settings }) => Object.entries(settings.properties));
  return Object.fromEntries(fields.map(([field, schema]) => [field, Type.Optional(schema)]));
}

const SHARED: ReadonlySet<string> = new Set(Object.keys(SharedSettings.properties));

/** The settings of the destination in an input. */
export function settingsIn(input: SubscriptionInput, { isFlat }: DestinationKind): object {
  if (isFlat !== true) return input.destination ?? {};
  return Object.fromEntries(Object.entries(input).filter(([field]) => !SHARED.has(field)));
}

/** Returns the input with these settings instead of its own. */
export function withSettings<Input extends SubscriptionInput>(
  input: Input,
  { isFlat }: DestinationKind,
  settings: object,
): Input {
  if (isFlat !== true) return { ...input, destination: settings };
  const fields = Object.entries({ ...input, ...settings });
  return Object.fromEntries(fields.filter(([field]) => SHARED.has(field) || Object.hasOwn(settings, field))) as Input;
}

/** The templates in the settings of an input. */
export function templatesIn(input: SubscriptionInput, kind: DestinationKind): readonly Template[] {
  return kind.templatesOf?.(settingsIn(input, kind)) ?? [];
}

/** The destination as it is shown. For a kind that this release does not know, hidden settings are left out. */
export function presentDestination(input: SubscriptionInput, kinds: DestinationKinds): Record<string, unknown> {
  const kind = kinds.findOf(input);
  if (kind === undefined) return { destination: input.destination ?? {} };
  const shown = kind.present(settingsIn(input, kind));
  return kind.isFlat === true ? shown : { destination: shown };
}

/** All problems with the destination of an input. */
export function checkKindSettings(input: SubscriptionInput, kinds: DestinationKinds): FieldProblem[] {
  const kind = kinds.findOf(input);
  if (kind === undefined) return [{ field: "kind", message: describeUnknownKind(input.kind ?? DEFAULT_KIND, kinds) }];
  const misplaced = [...findMisplaced(input, kind, kinds), ...checkMode(input, kind)];
  if (misplaced.length > 0) return misplaced;
  const settings = settingsIn(input, kind);
  const wrong = findWrong(settings, kind, kinds);
  if (wrong.length > 0) return wrong;
  return kind.check(settings, input).map((problem) => ({ ...problem, field: fieldOf(problem.field, kind) }));
}

export function describeUnknownKind(name: string, kinds: DestinationKinds): string {
  const names = kinds.list().map((kind) => kind.name);
  return `there is no kind of destination ${JSON.stringify(name)}; use one of: ${names.join(", ")}`;
}

/** The name of a field on the wire. */
export function fieldOf(field: string, { isFlat }: Pick<DestinationKind, "isFlat">): string {
  if (isFlat === true) return field;
  return field === "" ? "destination" : `destination.${field}`;
}

function checkMode({ mode }: SubscriptionInput, { name, canForward }: DestinationKind): FieldProblem[] {
  if (mode !== "forward" || canForward === true) return [];
  return [{ field: "mode", message: `senders cannot wait for destinations of the kind ${name}; use \`queue\`` }];
}

/** Finds settings that are given in the wrong place for this kind. */
function findMisplaced(input: SubscriptionInput, kind: DestinationKind, kinds: DestinationKinds): FieldProblem[] {
  if (kind.isFlat === true) {
    const where = `destinations of the kind ${kind.name} have their settings beside \`destination\``;
    return input.destination === undefined ? [] : [{ field: "destination", message: `is not for this kind: ${where}` }];
  }
  return Object.keys(settingsIn(input, { ...kind, isFlat: true })).map((field) => ({
    field,
    message: `${describeOwner(field, kind, kinds)}; the settings of this kind belong in \`destination\``,
  }));
}

function findWrong(settings: object, kind: DestinationKind, kinds: DestinationKinds): FieldProblem[] {
  const known = kind.settings.properties;
  const foreign = Object.keys(settings).filter((field) => !Object.hasOwn(known, field));
  if (foreign.length > 0) {
    return foreign.map((field) => ({ field: fieldOf(field, kind), message: describeOwner(field, kind, kinds) }));
  }
  const missing = (kind.settings.required ?? []).filter((field) => !Object.hasOwn(settings, field));
  if (missing.length > 0) {
    const message = `is missing; destinations of the kind ${kind.name} need it`;
    return missing.map((field) => ({ field: fieldOf(field, kind), message }));
  }
  if (Value.Check(kind.settings, settings)) return [];
  return Value.Errors(kind.settings, settings).map((error, _, errors) => ({
    field: fieldOf(error.instancePath.split("/").slice(1).join("."), kind),
    message: describeSchemaError(error, errors),
  }));
}

function describeOwner(field: string, { name }: DestinationKind, kinds: DestinationKinds): string {
  const owner = kinds.list().find(({ settings }) => Object.hasOwn(settings.properties, field));
  const is = `is not a setting of the kind ${name}`;
  return owner === undefined || owner.name === name ? is : `${is}; it belongs to the kind ${owner.name}`;
}

/** Whether the subscription's target has a health check. */
export function isChecked(input: SubscriptionInput, kind: DestinationKind, shared: TargetInput | undefined): boolean {
  return hasHealthCheck(kind.prepare(settingsIn(input, kind), { shared: input, target: shared }), shared);
}

/** The same for prepared settings. */
export function hasHealthCheck({ health }: PreparedDestination, shared: TargetInput | undefined): boolean {
  if (shared === undefined) return health !== undefined;
  return findHealth(shared.health_url, findPreset(shared.preset), shared.url) !== undefined;
}
