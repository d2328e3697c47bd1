import { createHash } from "node:crypto";
import { canonicalJson } from "../model/audit/canonical-json.ts";
import type { Deed } from "./authors.ts";
import type { Resource } from "./resource.ts";

type Shown = Readonly<Record<string, unknown>>;

/** Larger values, such as schemas, are shown by their hash. */
const MAX_SHOWN_LENGTH = 4096;

/** The audit log's details of a creation. */
export function describeNew<Thing>(resource: Resource<Thing>, thing: Thing): Deed {
  return { ...subjectOf(resource, thing), act: `${resource.kind}.create`, after: show(resource, thing) };
}

/** The audit log's details of a change; undefined when no visible field differs. */
export function describeChange<Thing>(
  resource: Resource<Thing>,
  before: Thing | undefined,
  after: Thing | undefined,
): Deed | undefined {
  if (before === undefined) return after === undefined ? undefined : describeNew(resource, after);
  const of = subjectOf(resource, before);
  const from = show(resource, before);
  if (after === undefined) return { ...of, act: `${resource.kind}.delete`, before: from };
  const to = show(resource, after);
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  const changed = names.filter((name) => canonicalJson(from[name] ?? null) !== canonicalJson(to[name] ?? null));
  const isSecretChanged = hide(resource, before) !== hide(resource, after);
  if (changed.length === 0 && !isSecretChanged) return undefined;
  return {
    ...of,
    act: `${resource.kind}.${resource.verbOf?.(before, after) ?? "update"}`,
    before: pick(from, changed),
    after: pick(to, changed),
    ...(isSecretChanged && { details: { secrets: "changed" } }),
  };
}

function subjectOf<Thing>(resource: Resource<Thing>, thing: Thing) {
  const { tenantId, id } = resource.keyOf(thing);
  return { kind: resource.kind, id, tenantId: resource.tenantOf?.(thing) ?? tenantId };
}

function show<Thing>(resource: Resource<Thing>, thing: Thing): Shown {
  const shown = resource.show?.(thing) ?? (JSON.parse(resource.write(thing).data) as Shown);
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, shorten(value)]));
}

function shorten(value: unknown): unknown {
  const text = canonicalJson(value ?? null);
  if (text.length <= MAX_SHOWN_LENGTH) return value ?? null;
  return { sha256: createHash("sha256").update(text).digest("hex"), length: text.length };
}

function hide<Thing>(resource: Resource<Thing>, thing: Thing): string {
  return canonicalJson(resource.secretsOf?.(thing) ?? null);
}

function pick(from: Shown, names: readonly string[]): Shown {
  return Object.fromEntries(names.map((name) => [name, from[name] ?? null]));
}
