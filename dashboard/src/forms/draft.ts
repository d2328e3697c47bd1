import type { Field } from "./fields.ts";

/** What is entered; what is not set is not there. */
export type Draft = Readonly<Record<string, unknown>>;

/** What the API shows of a thing, as a form begins with it. */
export function draftOf(thing: object, fields: readonly Field[]): Draft {
  const shown = thing as Draft;
  return Object.fromEntries(
    fields.flatMap(({ name }) => (shown[name] === null || shown[name] === undefined ? [] : [[name, shown[name]]])),
  );
}

export function withMember(draft: Draft, name: string, value: unknown): Draft {
  const { [name]: _, ...rest } = draft;
  return value === undefined ? rest : { ...rest, [name]: value };
}

/** What PATCH is sent: the fields that are different. One that was emptied becomes null, or what holds without it. */
export function changesOf(before: Draft, after: Draft, fields: readonly Field[]): Draft {
  const changed = fields.filter(({ name }) => !isSame(before[name], after[name]));
  return Object.fromEntries(
    changed.map(({ name, isNullable, schema }) => [
      name,
      after[name] ?? (isNullable ? null : (schema.default ?? null)),
    ]),
  );
}

/** What was changed here, on top of what somebody else saved meanwhile. */
export function rebase(changes: Draft, after: Draft, theirs: Draft): Draft {
  return Object.keys(changes).reduce((draft, name) => withMember(draft, name, after[name]), theirs);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What a complaint of the API is about. */
export interface Fault {
  field: string;
  message: string;
}

/** Whether it is about this field or a part of it: `events`, `events.0` and `events[0]` are all about `events`. */
export function concerns(fault: Fault | undefined, path: string): boolean {
  if (fault === undefined) return false;
  const { field } = fault;
  return field === path || (field.startsWith(path) && [".", "["].includes(field.charAt(path.length)));
}
