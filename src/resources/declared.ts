import { isSendersFault, PosthornError, type DeclaredFault } from "../model/errors.ts";
import type { ManagedBy } from "../model/subscription.ts";
import { type Collection, checkIfMatch, type Entry, type Resource } from "./resource.ts";
import type { Draft } from "./draft.ts";

export interface DeclaredThing<Thing> {
  id: string;
  /** Its name in the file, when that is not the id. */
  name?: string | undefined;
  tenantId?: string | undefined;
  /** Builds the thing as declared; returns the known thing itself when nothing changes. */
  build(known: Entry<Thing> | undefined): Thing | Promise<Thing>;
}

/**
 * Puts declared things that are new or changed into the draft. Things that are no longer declared are replaced by the
 * result of `toFormer`, and returned. Used in the same way for a tenant's contacts, with another `managedBy`.
 */
export async function declare<Thing extends { managedBy: ManagedBy }>(
  draft: Draft,
  of: Collection<Thing>,
  declared: readonly DeclaredThing<Thing>[],
  toFormer: (thing: Thing) => Thing,
  { managedBy = "config", tenantId }: { managedBy?: ManagedBy; tenantId?: string } = {},
): Promise<readonly Entry<Thing>[]> {
  const kept = new Set<Entry<Thing>>();
  const changed: Thing[] = [];
  const before = draft.list(of, tenantId);
  for (const { id, name = id, tenantId, build } of declared) {
    const known = draft.find(of, id, tenantId);
    if (known !== undefined) kept.add(known);
    const thing = await (managedBy === "config"
      ? orDeclaredFault(of.resource.noun, name, () => build(known))
      : build(known));
    if (known === undefined || !isSame(of.resource, known.thing, thing)) changed.push(thing);
  }
  const left = before.filter((entry) => entry.thing.managedBy === managedBy && !kept.has(entry));
  changed.push(...left.map(({ thing }) => toFormer(thing)));
  // Only now: while they are checked, they see each other as before.
  for (const thing of changed) draft.put(of, thing);
  return left;
}

function isSame<Thing>(resource: Resource<Thing>, known: Thing, thing: Thing): boolean {
  if (known === thing) return true;
  const [one, other] = [resource.write(known), resource.write(thing)];
  return one.data === other.data && one.blob === undefined && other.blob === undefined;
}

/**
 * The owner of the file must correct a rejected declaration: the error names the thing, also in `details`,
 * so that a caller who knows the file can add the line.
 */
export async function orDeclaredFault<Result>(
  noun: string,
  name: string,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!isSendersFault(error)) throw error;
    const { field, message } = error;
    const fault: DeclaredFault = { noun, name, field, message };
    throw new PosthornError("config_invalid", `The declared ${noun} ${name} is not valid: ${message}`, {
      details: { declared: fault },
    });
  }
}

/** Rejects a change that was meant for another version, or a change of something that the configuration declares. */
export function checkExpected<Thing extends { managedBy: ManagedBy }>(
  of: Collection<Thing>,
  entry: Entry<Thing> | undefined,
  ifMatch: string | undefined,
): void {
  checkIfMatch(ifMatch, entry);
  rejectManaged(of, entry);
}

export function rejectManaged<Thing extends { managedBy: ManagedBy }>(
  of: Collection<Thing>,
  entry: Entry<Thing> | undefined,
): void {
  const managedBy = entry?.thing.managedBy;
  if (entry === undefined || (managedBy !== "config" && managedBy !== "contact")) return;
  const why =
    managedBy === "contact"
      ? "belongs to a contact of its tenant. Change `contacts` of the tenant instead."
      : "is declared in the configuration. Change it there and reload with SIGHUP.";
  throw new PosthornError("managed_by_config", `The ${of.resource.noun} ${entry.id} ${why}`);
}
