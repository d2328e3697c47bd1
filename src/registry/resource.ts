import type { RecordKind, StoredRecord } from "../store/port/records.ts";

/** What the registry must know of one sort of thing that users configure. Its rules are elsewhere: where it is changed. */
export interface Resource<Thing> {
  readonly kind: RecordKind;
  /** For messages: `event type`. */
  readonly noun: string;
  /** Of what `write` returns; one higher whenever an older release could no longer read it. */
  readonly format: number;
  /** Also of formats before. Times and keys are those of the record; everything else stands in `data` and `blob`. */
  read(record: LiveRecord): Thing;
  write(thing: Thing): { data: string; blob?: Uint8Array | undefined };
  /** For the audit log: as people may see it. What `write` puts into `data` when not given, so that must hold no secret. */
  show?(thing: Thing): Readonly<Record<string, unknown>>;
  /** What is secret of it: the audit log tells that it changed, and never what it is. */
  secretsOf?(thing: Thing): unknown;
  /** What a change of it is called in the audit log, where `update` would say less. */
  verbOf?(before: Thing, after: Thing): string | undefined;
  /** The gateway changes it again and again as things go: the audit log tells what others do to it. */
  readonly changesByItself?: boolean;
  /** Whose it is, where its key does not say. */
  tenantOf?(thing: Thing): string | undefined;
  /** Those that were deleted are known as such, after a restart too. */
  readonly remembersDeleted?: boolean;
  /** `tenantId` is left out where the kind belongs to the whole gateway. */
  keyOf(thing: Thing): { tenantId?: string | undefined; id: string };
  /** Where every version is kept for good: under which number of which series this one is. */
  keptAs?(thing: Thing): { series: string; number: number };
  /**
   * After memory shows it, whoever made the change, and once with everything at the start. A change is answered when
   * this has ended, so it must not wait for another change of the kind. `list`: all, as memory shows them now.
   */
  onChange?(changes: readonly Change<Thing>[], list: () => readonly Entry<Thing>[]): void | Promise<void>;
}

export type LiveRecord = StoredRecord & { data: string };

export interface Entry<Thing> {
  readonly seq: number;
  readonly tenantId: string;
  readonly id: string;
  /** Of its record: what an ETag is made of. */
  readonly version: number;
  /** JSON, as it was when the entry was read. */
  readonly state: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly thing: Thing;
}

export interface Change<Thing> {
  readonly before: Entry<Thing> | undefined;
  /** Undefined when it was deleted. */
  readonly after: Entry<Thing> | undefined;
}
