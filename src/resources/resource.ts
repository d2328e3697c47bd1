import type { RecordKind, StoredRecord } from "../store/port/records.ts";

/** What the registry must know about a kind of thing that users configure. The code that changes it has its rules. */
export interface Resource<Thing> {
  readonly kind: RecordKind;
  /** For messages: `event type`. */
  readonly noun: string;
  /** The format of what `write` returns; raised by one when older releases can no longer read it. */
  readonly format: number;
  /** Reads older formats too. Times and keys come from the record; everything else is in `data` and `blob`. */
  read(record: LiveRecord): Thing;
  write(thing: Thing): { data: string; blob?: Uint8Array | undefined };
  /** The thing as the audit log shows it. By default the `data` of `write`, which then must not contain secrets. */
  show?(thing: Thing): Readonly<Record<string, unknown>>;
  /** Its secrets: the audit log says that they changed, never what they are. */
  secretsOf?(thing: Thing): unknown;
  /** A verb for the audit log that says more than `update`. */
  verbOf?(before: Thing, after: Thing): string | undefined;
  /** The gateway itself changes it often: the audit log records only changes by others. */
  readonly changesByItself?: boolean;
  /** Its tenant, when its key does not contain it. */
  tenantOf?(thing: Thing): string | undefined;
  /** Whether deleted things are remembered as deleted, even after a restart. */
  readonly remembersDeleted?: boolean;
  /** `tenantId` is left out when the kind belongs to the whole gateway. */
  keyOf(thing: Thing): { tenantId?: string | undefined; id: string };
  /** For kinds whose versions are all kept: the series, and the number in it. */
  keptAs?(thing: Thing): { series: string; number: number };
  /**
   * Called after memory shows a change, whoever made it, and once with everything at the start. A change resolves when
   * this has ended, so it must not wait for another change of the kind. `list` returns all things in memory.
   */
  onChange?(changes: readonly Change<Thing>[], list: () => readonly Entry<Thing>[]): void | Promise<void>;
}

export type LiveRecord = StoredRecord & { data: string };

export interface Entry<Thing> {
  readonly seq: number;
  readonly tenantId: string;
  readonly id: string;
  /** The version of its record, from which the ETag is made. */
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
