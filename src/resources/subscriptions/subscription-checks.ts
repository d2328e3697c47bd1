import {
  checkKindSettings,
  describeUnknownKind,
  fieldOf,
  isChecked,
  settingsIn,
  toQueueKinds,
  type DestinationKinds,
  templatesIn,
} from "../../destinations/kinds.ts";
import type { DestinationKind } from "../../destinations/destination-kind.ts";
import { invalidField, PosthornError } from "../../model/errors.ts";
import { checkFallback, checkNoEvents, checkUsedFallback, findForwardRival } from "../../model/forward-rules.ts";
import { DEFAULT_KIND, ownerOf, type Subscription, type SubscriptionInput } from "../../model/subscription.ts";
import { checkSharedSettings, type FieldProblem } from "../../model/subscription-rules.ts";
import { type TargetInput, THRESHOLDS } from "../../model/target.ts";
import { isPresetName } from "../../model/target-rules.ts";
import type { Draft } from "../draft.ts";
import type { SubscriptionAccess, SubscriptionAction } from "./subscription-access.ts";
import type { KeptSubscription, Settings } from "./subscription-record.ts";
import { rejectProblems } from "../resource.ts";
import type { Template } from "../../sandbox/templates/templates.ts";

export interface SubscriptionCheckOptions {
  kinds: DestinationKinds;
  /** Throws for settings of a destination that is not allowed here. */
  rejectDestination: (kind: DestinationKind, settings: object) => void | Promise<void>;
  /** A target that several subscriptions share; with a draft, it must not change until the write. */
  findTarget?: ((name: string, tenantId: string, draft?: Draft) => TargetInput | undefined) | undefined;
}

/** Rejects an input that is invalid whatever others there are; resolves to its kind of destination. */
export async function checkInput(
  options: SubscriptionCheckOptions,
  input: SubscriptionInput,
  draft: Draft,
): Promise<DestinationKind> {
  rejectProblems([...checkSharedSettings(input), ...checkKindSettings(input, options.kinds)]);
  const kind = options.kinds.findOf(input) as DestinationKind;
  await options.rejectDestination(kind, settingsIn(input, kind));
  rejectProblems(checkTarget(options, input, kind, draft), ".");
  return kind;
}

function checkTarget(
  options: SubscriptionCheckOptions,
  input: SubscriptionInput,
  kind: DestinationKind,
  draft: Draft,
): FieldProblem[] {
  const { target } = input;
  if (!target || isPresetName(target)) return [];
  if (findShared(options, input, draft) === undefined) {
    const message = `"${target}" is neither n8n nor a target of ${ownerOf(input)}. Create it first, with POST /api/v1/targets`;
    return [{ field: "target", message }];
  }
  const field = findHealthSetting(input, kind) ?? THRESHOLDS.find((name) => input[name] !== undefined);
  const message = `${target} is shared; set it there, for all subscriptions that send to it`;
  return field === undefined ? [] : [{ field, message }];
}

/** The target that it shares with others. */
function findShared({ findTarget }: SubscriptionCheckOptions, input: SubscriptionInput, draft: Draft) {
  const { target } = input;
  return target && !isPresetName(target) ? findTarget?.(target, ownerOf(input), draft) : undefined;
}

/** Rules between a forwarding subscription and its fallback queue. `before`: the subscription before the change. */
export function rejectFallbacks(
  options: SubscriptionCheckOptions,
  input: SubscriptionInput,
  kind: DestinationKind,
  { draft, others, before }: { draft: Draft; others: readonly Subscription[]; before?: { name: string } },
): void {
  const queueKinds = toQueueKinds(options.kinds);
  const facts = { ...input, kind: kind.name };
  const user = before && others.find((other) => other.fallback === before.name);
  if (user !== undefined && input.name !== before?.name) throw usedAsFallback(before?.name ?? "", user);
  const isOneChecked = () => isChecked(input, kind, findShared(options, input, draft));
  const problems = [
    ...checkNoEvents(facts, queueKinds),
    ...(user === undefined ? [] : checkUsedFallback(facts, user, queueKinds)),
    ...(input.fallback ? checkFallback({ ...facts, isChecked: isOneChecked() }, others, queueKinds) : []),
  ];
  rejectProblems(problems, ".");
}

type Names = Pick<SubscriptionInput, "fallback" | "target">;

/**
 * To name another subscription as a fallback is to send through it, to take a fallback away leaves its queue without the
 * events, and to join a shared target decides when its other subscriptions are sent to: a caller that is bound to the
 * tenant needs the right to do so itself.
 */
export function rejectOthersNames(
  given: Names,
  terms: {
    boundTo: string | undefined;
    access: Pick<SubscriptionAccess, "rightsOf">;
    /** All subscriptions of the tenant. */
    list: () => readonly { thing: KeptSubscription }[];
    /** The settings before the change. */
    before?: Names;
  },
): void {
  const { boundTo, access, list, before = {} } = terms;
  if (boundTo === undefined) return;
  const reject = (field: keyof Names, thing: KeptSubscription | undefined, act: SubscriptionAction) => {
    if (thing === undefined || access.rightsOf(thing, boundTo)[act]) return;
    throw new PosthornError(
      "forbidden",
      `${field}: only the operator of the gateway may ${act} the subscription ${JSON.stringify(thing.name)}.`,
      { field },
    );
  };
  const { fallback, target } = given;
  if ((fallback ?? null) !== (before.fallback ?? null)) {
    const find = (name: string) => list().find(({ thing }) => thing.name === name)?.thing;
    if (before.fallback) reject("fallback", find(before.fallback), "change");
    if (fallback) reject("fallback", find(fallback), "use");
  }
  if (!target || target === before.target || isPresetName(target)) return;
  for (const { thing } of list()) if (thing.settings.target === target) reject("target", thing, "change");
}

export function usedAsFallback(name: string, user: Pick<Subscription, "id" | "name">): PosthornError {
  return new PosthornError(
    "conflict",
    `"${name}" is the fallback of the subscription "${user.name}" (${user.id}). Give that another fallback first, or none.`,
    { details: { subscription_id: user.id } },
  );
}

function findHealthSetting(input: SubscriptionInput, kind: DestinationKind): string | undefined {
  const settings = new Map<string, unknown>(Object.entries(settingsIn(input, kind)));
  const set = kind.healthSettings?.find((name) => (settings.get(name) ?? null) !== null);
  return set === undefined ? undefined : fieldOf(set, kind);
}

export function rejectSameName(name: string, tenantId: string, others: readonly { name: string }[]): void {
  if (!others.some((one) => one.name === name)) return;
  throw new PosthornError(
    "conflict",
    `The tenant ${tenantId} already has a subscription named "${name}". Choose another name.`,
  );
}

export function rejectRival(input: SubscriptionInput, others: readonly Subscription[]): void {
  const rival = findForwardRival(input, others);
  if (rival === undefined) return;
  throw new PosthornError(
    "conflict",
    `mode: the subscription "${rival.name}" (${rival.id}) already forwards some of these events, and a source waits ` +
      "for only one. Choose other patterns, or set the mode of one of the two to queue.",
    { field: "mode", details: { subscription_id: rival.id } },
  );
}

export function rejectOverQuota(quota: number | undefined, tenantId: string, used: number): void {
  if (quota === undefined || used < quota) return;
  throw new PosthornError(
    "subscription_quota",
    `The tenant ${tenantId} may have ${quota} subscriptions and has ${used}. Delete one, or raise its quota.`,
    { details: { quota, used } },
  );
}

export function rejectOtherKind(input: { kind?: string }, known: { kind?: string }): void {
  const kind = known.kind ?? DEFAULT_KIND;
  if ((input.kind ?? DEFAULT_KIND) === kind) return;
  throw invalidField("kind", `kind: it is ${kind} and cannot be changed. Create another subscription.`);
}

/** A release with more kinds wrote it, and its settings may mean something else there. */
export function rejectUnknownKind(id: string, settings: { kind?: string }, kinds: DestinationKinds): void {
  if (kinds.findOf(settings) !== undefined) return;
  throw new PosthornError(
    "newer_format",
    `The subscription ${id} stays unchanged: ${describeUnknownKind(settings.kind ?? DEFAULT_KIND, kinds)}. Change it ` +
      "with the release that made it.",
  );
}

/** Finds what is wrong with templates for events of these patterns. Tenants do not wait for each other. */
export type ExamineTemplates = (
  templates: readonly Template[],
  events: readonly string[],
  tenantId: string,
) => Promise<readonly FieldProblem[]>;

/** Throws for templates that cannot be used. Unchanged templates are not checked again. */
export async function rejectTemplates(
  input: SubscriptionInput,
  kind: DestinationKind,
  known: Settings | undefined,
  tenantId: string,
  examine: ExamineTemplates | undefined,
): Promise<void> {
  const templates = templatesIn(input, kind);
  if (examine === undefined || templates.length === 0 || isExamined(input, templates, kind, known)) return;
  const [problem] = await examine(templates, input.events, tenantId);
  if (problem === undefined) return;
  const { message } = problem;
  rejectProblems([{ field: fieldOf(problem.field, kind), message }], message.endsWith("?") ? "" : ".");
}

/** A schema that changed later must not block a change of other settings. */
function isExamined(
  input: SubscriptionInput,
  templates: readonly Template[],
  kind: DestinationKind,
  known: Settings | undefined,
): boolean {
  if (known === undefined) return false;
  const before = [templatesIn(known, kind), known.events];
  return JSON.stringify(before) === JSON.stringify([templates, input.events]);
}
