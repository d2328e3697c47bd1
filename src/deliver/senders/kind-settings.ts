import { Value } from "typebox/value";
import type { Template } from "../../templates/templates.ts";
import { DEFAULT_KIND, SharedSettings, type SubscriptionInput } from "../../domain/subscription.ts";
import type { FieldProblem } from "../../domain/subscription-rules.ts";
import type { DestinationKinds } from "./kinds.ts";
import type { TargetInput } from "../../domain/target.ts";
import { findHealth, findPreset } from "../../domain/target-presets.ts";
import type { DestinationKind, PreparedDestination } from "./sender.ts";

/** Where the settings of a kind stand in an input, and what is wrong with them. */

const SHARED: ReadonlySet<string> = new Set(Object.keys(SharedSettings.properties));

/** What an input says of its destination. */
export function settingsIn(input: SubscriptionInput, { isFlat }: DestinationKind): object {
  if (isFlat !== true) return input.destination ?? {};
  return Object.fromEntries(Object.entries(input).filter(([field]) => !SHARED.has(field)));
}

/** The input with these settings and no others of the kind. */
export function withSettings<Input extends SubscriptionInput>(
  input: Input,
  { isFlat }: DestinationKind,
  settings: object,
): Input {
  if (isFlat !== true) return { ...input, destination: settings };
  const fields = Object.entries({ ...input, ...settings });
  return Object.fromEntries(fields.filter(([field]) => SHARED.has(field) || Object.hasOwn(settings, field))) as Input;
}

/** The templates among them. */
export function templatesIn(input: SubscriptionInput, kind: DestinationKind): readonly Template[] {
  return kind.templatesOf?.(settingsIn(input, kind)) ?? [];
}

/** As it is shown. What a kind that is not known here has hidden is not among it. */
export function presentDestination(input: SubscriptionInput, kinds: DestinationKinds): Record<string, unknown> {
  const kind = kinds.findOf(input);
  if (kind === undefined) return { destination: input.destination ?? {} };
  const shown = kind.present(settingsIn(input, kind));
  return kind.isFlat === true ? shown : { destination: shown };
}

/** All that is wrong with what an input says of its destination. */
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
  return `there is no kind of destination ${JSON.stringify(name)} here; there are: ${names.join(", ")}`;
}

/** By its name on the wire. */
export function fieldOf(field: string, { isFlat }: Pick<DestinationKind, "isFlat">): string {
  if (isFlat === true) return field;
  return field === "" ? "destination" : `destination.${field}`;
}

function checkMode({ mode }: SubscriptionInput, { name, canForward }: DestinationKind): FieldProblem[] {
  if (mode !== "forward" || canForward === true) return [];
  return [
    { field: "mode", message: `nobody can wait for destinations of the kind ${name}; only \`queue\` is possible` },
  ];
}

/** Settings where this kind has none. */
function findMisplaced(input: SubscriptionInput, kind: DestinationKind, kinds: DestinationKinds): FieldProblem[] {
  if (kind.isFlat === true) {
    const where = `destinations of the kind ${kind.name} have their settings beside it`;
    return input.destination === undefined ? [] : [{ field: "destination", message: `is not for this kind: ${where}` }];
  }
  return Object.keys(settingsIn(input, { ...kind, isFlat: true })).map((field) => ({
    field,
    message: `${describeOwner(field, kind, kinds)}; its own settings stand in \`destination\``,
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
  return Value.Errors(kind.settings, settings).map(({ instancePath, message }) => ({
    field: fieldOf(instancePath.split("/").slice(1).join("."), kind),
    message,
  }));
}

function describeOwner(field: string, { name }: DestinationKind, kinds: DestinationKinds): string {
  const owner = kinds.list().find(({ settings }) => Object.hasOwn(settings.properties, field));
  const is = `is not a setting of the kind ${name}`;
  return owner === undefined || owner.name === name ? is : `${is}; it belongs to the kind ${owner.name}`;
}

/** Whether something is asked how its target is. */
export function isChecked(input: SubscriptionInput, kind: DestinationKind, shared: TargetInput | undefined): boolean {
  return hasHealthCheck(kind.prepare(settingsIn(input, kind), { shared: input, target: shared }), shared);
}

/** The same, of settings that are prepared already. */
export function hasHealthCheck({ health }: PreparedDestination, shared: TargetInput | undefined): boolean {
  if (shared === undefined) return health !== undefined;
  return findHealth(shared.health_url, findPreset(shared.preset), shared.url) !== undefined;
}
