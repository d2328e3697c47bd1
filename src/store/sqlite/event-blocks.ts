import { readLabels } from "../../model/event-search.ts";
import type { NewEvent } from "../port/event-log.ts";
import type { Database } from "./connection.ts";
import { asFields, toRow } from "./query-rows.ts";

/**
 * Bloom filters of everything by which the events of one block can be found. A filter may say "perhaps" without reason,
 * about once in 2,000 times; it never says "no" when there is a match.
 */

const BITS_PER_KEY = 16;
const PROBES = 8;
const MIN_BYTES = 16;
/** The number of filters of a block. Databases depend on it and on the hashes: never change them. */
export const SEGMENTS = 16;

/** The indexed length of an id's beginning: in generated ids, the time to about a second. */
const ID_START_LENGTH = 12;

/** The keys by which events are indexed and searched. The numbers are part of the hashes. */
const KINDS = {
  type: 1,
  /** Leading words of the type, for patterns. */
  words: 2,
  source: 3,
  tenant: 4,
  /** `TYPE:TENANT`, because a tenant's keys search only its own events. */
  typeOfTenant: 5,
  givenId: 6,
  idStart: 7,
  orderingKey: 8,
  label: 9,
  /** `NAME=VALUE`. */
  labelValue: 10,
  unmatched: 11,
} as const;

export interface FilterKey {
  readonly segment: number;
  readonly first: number;
  readonly step: number;
}

export function idStart(id: string): string {
  return id.slice(0, ID_START_LENGTH);
}

/** Undefined for a prefix shorter than the indexed length. */
export function keyOfIdPrefix(prefix: string): FilterKey | undefined {
  return prefix.length < ID_START_LENGTH ? undefined : toFilterKey("idStart", idStart(prefix));
}

/** Two 32-bit FNV-1a hashes, each mixed once more, because FNV distributes the high bits poorly. */
export function toFilterKey(kind: keyof typeof KINDS, text: string): FilterKey {
  let a = Math.imul(0x811c9dc5 ^ KINDS[kind], 0x01000193);
  let b = Math.imul(0x01000193 ^ KINDS[kind], 0x5bd1e995);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
  }
  // An odd step avoids short cycles.
  return { segment: stir(a ^ b) & (SEGMENTS - 1), first: stir(a), step: stir(b) | 1 };
}

function stir(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

export function createBlockFilters(keys: readonly FilterKey[]): Uint8Array[] {
  const counts = new Uint32Array(SEGMENTS);
  for (const { segment } of keys) counts[segment] = (counts[segment] as number) + 1;
  const bytesFor = (keyCount: number) => Math.max(MIN_BYTES, Math.ceil((keyCount * BITS_PER_KEY) / 8));
  const filters = Array.from(counts, (count) => new Uint8Array(bytesFor(count)));
  for (const { segment, first, step } of keys) {
    const filter = filters[segment] as Uint8Array;
    for (let i = 0; i < PROBES; i++) {
      const bit = bitAt(filter, first, step, i);
      filter[bit >> 3] = (filter[bit >> 3] as number) | (1 << (bit & 7));
    }
  }
  return filters;
}

/** `filter`: the filter of the key's segment. */
export function mayHold(filter: Uint8Array, { first, step }: FilterKey): boolean {
  for (let i = 0; i < PROBES; i++) {
    const bit = bitAt(filter, first, step, i);
    if (((filter[bit >> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** Limited to 31 bits: of larger numbers the remainder is computed with floating point, ten times as slowly. */
function bitAt(filter: Uint8Array, first: number, step: number, i: number): number {
  return ((first + Math.imul(i, step)) & 0x7fffffff) % (filter.length * 8);
}

/** The rows of consecutive blocks in one value, so that a search over millions of events reads few rows. */

export interface BlockRow {
  block: number;
  minReceivedAt: number;
  maxReceivedAt: number;
  hasAllLabels: number;
  filter: Uint8Array;
}

/** Databases depend on it: never change it. */
export const GROUP_BLOCKS = 16;

const HEADER_BYTES = 21;

export function groupOf(block: number): number {
  return Math.floor(block / GROUP_BLOCKS);
}

function packGroup(rows: readonly BlockRow[]): Uint8Array {
  const bytes = rows.reduce((sum, { filter }) => sum + filter.length, rows.length * HEADER_BYTES);
  const packed = new Uint8Array(bytes);
  const view = new DataView(packed.buffer);
  let end = rows.length * HEADER_BYTES;
  rows.forEach(({ minReceivedAt, maxReceivedAt, hasAllLabels, filter }, i) => {
    const at = i * HEADER_BYTES;
    view.setFloat64(at, minReceivedAt);
    view.setFloat64(at + 8, maxReceivedAt);
    view.setUint8(at + 16, hasAllLabels);
    packed.set(filter, end);
    end += filter.length;
    view.setUint32(at + 17, end);
  });
  return packed;
}

/** The highest block first, none above `from`. */
export function unpackGroup(packed: Uint8Array, group: number, from: number): BlockRow[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
  const first = group * GROUP_BLOCKS;
  const rows: BlockRow[] = [];
  for (let i = from - first; i >= 0; i--) {
    const at = i * HEADER_BYTES;
    const start = i === 0 ? GROUP_BLOCKS * HEADER_BYTES : view.getUint32(at - HEADER_BYTES + 17);
    rows.push({
      block: first + i,
      minReceivedAt: view.getFloat64(at),
      maxReceivedAt: view.getFloat64(at + 8),
      hasAllLabels: view.getUint8(at + 16),
      filter: packed.subarray(start, view.getUint32(at + 17)),
    });
  }
  return rows;
}

/** How many events, by sequence number, are skipped or read together. Databases depend on it: never change it. */
export const BLOCK_EVENTS = 1024;

export function blockOf(seq: number): number {
  return Math.floor(seq / BLOCK_EVENTS);
}

type FiledEvent = Pick<
  NewEvent,
  "id" | "givenId" | "type" | "source" | "tenantId" | "orderingKey" | "details" | "receivedAt"
>;

/** Events with more than this are not indexed by label; their block is then always searched for labels. */
const MAX_DETAILS_CHARACTERS = 8192;
const MAX_LABELS = 32;

/** Collects the keys of the newest block, and writes them with its last event: each event costs a few look-ups. */
export function createEventBlocks(db: Database, nextSeq: number) {
  // Index rows from this number on may describe events that no longer exist, and must not stand for new ones.
  const forget = db.prepare("delete from event_blocks where segment = ? and block >= ?");
  const forgetGroups = db.prepare("delete from event_block_groups where segment = ? and block_group >= ?");
  for (let segment = 0; segment < SEGMENTS; segment++) {
    forget.run(segment, blockOf(nextSeq));
    forgetGroups.run(segment, groupOf(blockOf(nextSeq)));
  }
  const insert = db.prepare(`
    insert or replace into event_blocks (segment, block, min_received_at, max_received_at, has_all_labels, filter)
    values (?, ?, ?, ?, ?, ?)`);
  const insertGroup = db.prepare(
    "insert or replace into event_block_groups (segment, block_group, blocks) values (?, ?, ?)",
  );
  const selectBlocks = db.prepare(`
    select block, min_received_at as minReceivedAt, max_received_at as maxReceivedAt, has_all_labels as hasAllLabels,
      filter
    from event_blocks where segment = ? and block between ? and ? order by block`);
  const selectEvents = db.prepare(`
    select id, type, source, details,
      ${asFields("given_id, tenant_id, ordering_key, received_at, delivery_count")}
    from events where seq >= ? and seq < ?`);

  let block = -1;
  const typesByTenant = new Map<string, Set<string>>();
  const givenIds: string[] = [];
  const sets = {
    source: new Set<string>(),
    idStart: new Set<string>(),
    orderingKey: new Set<string>(),
    label: new Set<string>(),
    labelValue: new Set<string>(),
  };
  let hasUnmatched = false;
  let hasAllLabels = true;
  let minReceivedAt = 0;
  let maxReceivedAt = 0;

  /** Reads again what was stored before this start or a rollback: at most one block of events. */
  function begin(seq: number): void {
    const isKnown = block === blockOf(seq) - 1 && seq % BLOCK_EVENTS === 0;
    block = blockOf(seq);
    typesByTenant.clear();
    for (const set of Object.values(sets)) set.clear();
    givenIds.length = 0;
    hasUnmatched = false;
    hasAllLabels = true;
    minReceivedAt = Number.POSITIVE_INFINITY;
    maxReceivedAt = Number.NEGATIVE_INFINITY;
    if (isKnown) return;
    const rows = selectEvents.all(block * BLOCK_EVENTS, seq);
    for (const row of rows) file({ ...toRow<FiledEvent>(row), givenId: row.givenId === 1 }, row.deliveryCount === 0);
  }

  function file(event: FiledEvent, isUnmatched: boolean): void {
    let types = typesByTenant.get(event.tenantId);
    if (types === undefined) typesByTenant.set(event.tenantId, (types = new Set()));
    types.add(event.type);
    sets.source.add(event.source);
    sets.idStart.add(idStart(event.id));
    if (event.givenId) givenIds.push(event.id);
    if (event.orderingKey !== undefined) sets.orderingKey.add(event.orderingKey);
    if (event.details !== undefined) fileLabels(event.details);
    if (isUnmatched) hasUnmatched = true;
    if (event.receivedAt < minReceivedAt) minReceivedAt = event.receivedAt;
    if (event.receivedAt > maxReceivedAt) maxReceivedAt = event.receivedAt;
  }

  function fileLabels(details: string): void {
    const found = details.length > MAX_DETAILS_CHARACTERS ? undefined : readLabels(details);
    if (found === undefined || found.size > MAX_LABELS) {
      hasAllLabels = false;
      return;
    }
    for (const [name, value] of found) {
      sets.label.add(name);
      if (value !== undefined) sets.labelValue.add(`${name}=${value}`);
    }
  }

  function collectKeys(): FilterKey[] {
    const keys = [...typesByTenant.keys()].map((tenant) => toFilterKey("tenant", tenant));
    const add = (kind: keyof typeof KINDS, texts: Iterable<string>) => {
      for (const text of texts) keys.push(toFilterKey(kind, text));
    };
    for (const [tenant, types] of typesByTenant) {
      add(
        "typeOfTenant",
        [...types].map((type) => `${type}:${tenant}`),
      );
    }
    const allTypes = new Set([...typesByTenant.values()].flatMap((types) => [...types]));
    add("type", allTypes);
    add("words", new Set([...allTypes].flatMap(leadingWords)));
    add("givenId", givenIds);
    for (const [kind, texts] of Object.entries(sets)) add(kind as keyof typeof sets, texts);
    if (hasUnmatched) add("unmatched", [""]);
    return keys;
  }

  function write(): void {
    createBlockFilters(collectKeys()).forEach((filter, segment) => {
      insert.run(segment, block, minReceivedAt, maxReceivedAt, hasAllLabels ? 1 : 0, filter);
    });
    if ((block + 1) % GROUP_BLOCKS === 0) writeGroup();
  }

  /** An incomplete group is not written; its blocks are then read one by one. */
  function writeGroup(): void {
    for (let segment = 0; segment < SEGMENTS; segment++) {
      const rows = selectBlocks.all(segment, block + 1 - GROUP_BLOCKS, block) as BlockRow[];
      if (rows.length === GROUP_BLOCKS) insertGroup.run(segment, groupOf(block), packGroup(rows));
    }
  }

  return {
    record(seq: number, event: FiledEvent, isUnmatched: boolean): void {
      if (blockOf(seq) !== block) begin(seq);
      file(event, isUnmatched);
      if ((seq + 1) % BLOCK_EVENTS === 0) write();
    },
    /** `seqAgain`: the number that the next event now gets. */
    rollback(seqAgain: number): void {
      // Keys of events that were not stored do no harm, as long as they are in the right block.
      if (blockOf(seqAgain) !== block) block = -1;
    },
  };
}

/** `a`, `a.b` and `a.b.c` for the type `a.b.c`. */
function leadingWords(type: string): string[] {
  const words = type.split(".");
  return words.map((_, i) => words.slice(0, i + 1).join("."));
}
