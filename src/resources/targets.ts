import { PosthornError } from "../model/errors.ts";
import { DEFAULT_TENANT } from "../model/event.ts";
import type { ManagedBy } from "../model/subscription.ts";
import { checkTargetInput } from "../model/target-rules.ts";
import type { TargetChange, TargetInput } from "../model/target.ts";
import { checkExpected, declare, rejectManaged } from "./declared.ts";
import type { Draft, Pending } from "./draft.ts";
import { checkIfMatch, rejectProblems, type Change, type Entry, type Resource } from "./resource.ts";
import { targetOfSource } from "./sources/source-checks.ts";
import type { Once, Registry } from "./registry.ts";

/** The targets that several subscriptions may share, as users set them. */
export type SharedTargets = Awaited<ReturnType<typeof openSharedTargets>>;

export interface SharedTarget {
  readonly tenantId: string;
  readonly input: TargetInput;
  readonly managedBy: ManagedBy;
}

const MAX_PER_TENANT = 1000;

export async function openSharedTargets(options: {
  registry: Registry;
  /** Throws for a destination that is not allowed. */
  checkDestination: (url: string, field?: string) => void;
  /** A subscription that sends to it. */
  findUser: (draft: Draft, name: string, tenantId: string) => { id: string; name: string } | undefined;
  /** A source that accepts messages only while the target is healthy. */
  findSource?: ((draft: Draft, name: string, tenantId: string) => { name: string } | undefined) | undefined;
  /** Throws when a subscription that sends to it cannot have these settings; `managedBy` limits the check. */
  checkUsers?: ((draft: Draft, input: TargetInput, managedBy?: ManagedBy) => void) | undefined;
  /** A subscription with this name or id: its own target has that name too. */
  findOwner: (draft: Draft, name: string, tenantId: string) => { id: string; name: string } | undefined;
  /** Called after memory shows a change; not called for what exists at the start. */
  onChange: (changes: readonly Change<SharedTarget>[]) => Promise<void>;
}) {
  const { registry, checkDestination, findUser, findOwner } = options;
  let isOpen = false;
  const targets = await registry.open<SharedTarget>({
    ...TARGETS,
    onChange: (changes) => (isOpen ? options.onChange(changes) : undefined),
  });
  isOpen = true;

  function getExpected(draft: Draft, name: string, tenantId: string, ifMatch: string | undefined): Entry<SharedTarget> {
    const known = draft.find(targets, name, tenantId);
    if (known === undefined && findOwner(draft, name, tenantId) !== undefined) {
      throw new PosthornError("conflict", `The target ${name} belongs to one subscription. Change that subscription.`);
    }
    const expected = known ?? targets.get(name, tenantId);
    checkExpected(targets, expected, ifMatch);
    return expected;
  }

  function checkUrls({ url, health_url: healthUrl }: TargetInput): void {
    if (url !== undefined) checkDestination(url, "url");
    if (healthUrl !== undefined) checkDestination(healthUrl, "health_url");
  }

  function put(draft: Draft, input: TargetInput): Pending<SharedTarget> {
    rejectProblems(checkTargetInput(input));
    checkUrls(input);
    const target = toTarget(input, "api");
    const known = draft.find(targets, input.name, target.tenantId);
    rejectManaged(targets, known);
    if (known === undefined && draft.list(targets, target.tenantId).length >= MAX_PER_TENANT) {
      throw new PosthornError(
        "conflict",
        `${target.tenantId} has ${MAX_PER_TENANT} targets, the maximum. Delete one first.`,
      );
    }
    options.checkUsers?.(draft, input);
    return draft.put(targets, target);
  }

  return {
    find: targets.find,
    /** Its settings; with a draft, they must not change until the write. */
    findInput(name: string, tenantId: string, draft?: Draft): TargetInput | undefined {
      const entry = draft === undefined ? targets.find(name, tenantId) : draft.find(targets, name, tenantId);
      return entry?.thing.input;
    },
    /** Sorted by age. */
    list: targets.list,
    /** The list must not change until the draft is written. */
    listIn: (draft: Draft, tenantId: string) => draft.list(targets, tenantId).map(({ thing }) => thing),
    /** Rejected when the name is taken. */
    create: (input: TargetInput, once?: Once) =>
      registry.make(targets, once, (draft) => {
        if (draft.find(targets, input.name, tenantOf(input)) === undefined) return put(draft, input);
        throw new PosthornError("conflict", `The target ${input.name} already exists.`, { field: "name" });
      }),
    /** Creates or replaces the target. */
    put: (input: TargetInput, ifMatch?: string) =>
      registry.put(targets, (draft) => {
        checkIfMatch(ifMatch, draft.find(targets, input.name, tenantOf(input)));
        return put(draft, input);
      }),
    change: (name: string, tenantId: string, change: TargetChange, ifMatch?: string) =>
      registry.changeOne(targets, (draft) => {
        const known = getExpected(draft, name, tenantId, ifMatch);
        const merged = Object.entries({ ...known.thing.input, ...change }).filter(([, value]) => value !== null);
        return put(draft, Object.fromEntries(merged) as TargetInput);
      }),
    /** Rejected while a subscription sends to it or a source names it. */
    remove: (name: string, tenantId: string, ifMatch?: string) =>
      registry.change(targets, (draft) => {
        getExpected(draft, name, tenantId, ifMatch);
        const user = findUser(draft, name, tenantId);
        if (user !== undefined) {
          throw new PosthornError("conflict", `The subscription "${user.name}" (${user.id}) sends to ${name}.`, {
            details: { subscription_id: user.id },
          });
        }
        const source = options.findSource?.(draft, name, tenantId);
        if (source !== undefined) throw targetOfSource(name, source);
        draft.remove(targets, name, tenantId);
      }),
    /** Puts the declared targets into the draft; returns the names that are no longer declared. */
    async declareIn(draft: Draft, declared: readonly TargetInput[]): Promise<readonly string[]> {
      const things = declared.map((input) => ({
        id: input.name,
        tenantId: tenantOf(input),
        build() {
          checkUrls(input);
          // Subscriptions of the same file are changed next, and checked then.
          options.checkUsers?.(draft, input, "api");
          return toTarget(input, "config");
        },
      }));
      const left = await declare(draft, targets, things, toFormer);
      return left.map(({ id }) => id);
    },
  };
}

const TARGETS: Resource<SharedTarget> = {
  kind: "target",
  noun: "target",
  format: 1,
  read({ id, tenantId, data }) {
    const { settings, managedBy } = JSON.parse(data) as { settings: object; managedBy: ManagedBy };
    return { tenantId, input: { ...settings, name: id, tenant_id: tenantId }, managedBy };
  },
  write: ({ input, managedBy }) => ({ data: JSON.stringify({ settings: settingsIn(input), managedBy }) }),
  show: ({ input, managedBy }) => ({ ...settingsIn(input), managed_by: managedBy }),
  keyOf: ({ tenantId, input }) => ({ tenantId, id: input.name }),
};

/** Without the fields that the record has itself. */
function settingsIn(input: TargetInput): object {
  const { name: _, tenant_id: __, ...settings } = input;
  return settings;
}

function toTarget(input: TargetInput, managedBy: ManagedBy): SharedTarget {
  return { tenantId: tenantOf(input), input, managedBy };
}

/** It stays unchanged for subscriptions that still name it. */
function toFormer(target: SharedTarget): SharedTarget {
  return { ...target, managedBy: "former_config" };
}

function tenantOf({ tenant_id: tenantId = DEFAULT_TENANT }: TargetInput): string {
  return tenantId;
}
