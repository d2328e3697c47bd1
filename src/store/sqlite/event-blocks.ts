import { readLabels } from "../../model/event-search.ts";
import type { NewEvent } from "../port/event-log.ts";
import { createBlockFilters, idStart, SEGMENTS, toFilterKey, type FilterKey } from "./block-filter.ts";
import { GROUP_BLOCKS, groupOf, packGroup, type BlockRow } from "./block-group.ts";
import type { Database } from "./connection.ts";

/** How many events, by sequence number, are skipped or read together. Databases depend on it: never change it. */
export const BLOCK_EVENTS = 1024;

export function blockOf(seq: number): number {
  return Math.floor(seq / BLOCK_EVENTS);
}

/**
 * Collects the index keys of the newest block in memory, and writes them with the block's last event. So the index
 * costs each event only a few look-ups in sets.
 */
export interface EventBlocks {
  note(seq: number, event: FiledEvent, isUnmatched: boolean): void;
  /** `seqAgain`: the number that the next event now gets. */
  rollback(seqAgain: number): void;
}

type FiledEvent = Pick<
  NewEvent,
  "id" | "givenId" | "type" | "source" | "tenantId" | "orderingKey" | "details" | "receivedAt"
>;

/** Events with more than this are not indexed by label; their block is then always searched for labels. */
const MAX_DETAILS_CHARACTERS = 8192;
const MAX_LABELS = 32;

/** `nextSeq`: the number of the next event. */
export function createEventBlocks(db: Database, nextSeq: number): EventBlocks {
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
    select id, given_id, type, source, tenant_id, ordering_key, details, received_at, delivery_count
    from events where seq >= ? and seq < ?`);

  let block = -1;
  const typesByTenant = new Map<string, Set<string>>();
  const sources = new Set<string>();
  const idStarts = new Set<string>();
  const givenIds: string[] = [];
  const orderingKeys = new Set<string>();
  const labels = new Set<string>();
  const labelValues = new Set<string>();
  let hasUnmatched = false;
  let hasAllLabels = true;
  let minReceivedAt = 0;
  let maxReceivedAt = 0;

  /** Reads again what was stored before this start or a rollback: at most one block of events. */
  function begin(seq: number): void {
    const isKnown = block === blockOf(seq) - 1 && seq % BLOCK_EVENTS === 0;
    block = blockOf(seq);
    typesByTenant.clear();
    for (const set of [sources, idStarts, orderingKeys, labels, labelValues]) set.clear();
    givenIds.length = 0;
    hasUnmatched = false;
    hasAllLabels = true;
    minReceivedAt = Number.POSITIVE_INFINITY;
    maxReceivedAt = Number.NEGATIVE_INFINITY;
    if (isKnown) return;
    for (const row of selectEvents.all(block * BLOCK_EVENTS, seq) as unknown as EventRow[]) {
      file(
        {
          id: row.id,
          givenId: row.given_id === 1,
          type: row.type,
          source: row.source,
          tenantId: row.tenant_id,
          orderingKey: row.ordering_key ?? undefined,
          details: row.details ?? undefined,
          receivedAt: row.received_at,
        },
        row.delivery_count === 0,
      );
    }
  }

  function file(event: FiledEvent, isUnmatched: boolean): void {
    let types = typesByTenant.get(event.tenantId);
    if (types === undefined) typesByTenant.set(event.tenantId, (types = new Set()));
    types.add(event.type);
    sources.add(event.source);
    idStarts.add(idStart(event.id));
    if (event.givenId) givenIds.push(event.id);
    if (event.orderingKey !== undefined) orderingKeys.add(event.orderingKey);
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
      labels.add(name);
      if (value !== undefined) labelValues.add(`${name}=${value}`);
    }
  }

  function collectKeys(): FilterKey[] {
    const keys: FilterKey[] = [];
    const allTypes = new Set<string>();
    const words = new Set<string>();
    for (const [tenant, types] of typesByTenant) {
      keys.push(toFilterKey("tenant", tenant));
      for (const type of types) {
        keys.push(toFilterKey("typeOfTenant", `${type}:${tenant}`));
        allTypes.add(type);
      }
    }
    for (const type of allTypes) {
      keys.push(toFilterKey("type", type));
      for (const leading of leadingWords(type)) words.add(leading);
    }
    for (const leading of words) keys.push(toFilterKey("words", leading));
    for (const source of sources) keys.push(toFilterKey("source", source));
    for (const start of idStarts) keys.push(toFilterKey("idStart", start));
    for (const id of givenIds) keys.push(toFilterKey("givenId", id));
    for (const key of orderingKeys) keys.push(toFilterKey("orderingKey", key));
    for (const label of labels) keys.push(toFilterKey("label", label));
    for (const value of labelValues) keys.push(toFilterKey("labelValue", value));
    if (hasUnmatched) keys.push(toFilterKey("unmatched", ""));
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
    note(seq, event, isUnmatched) {
      if (blockOf(seq) !== block) begin(seq);
      file(event, isUnmatched);
      if ((seq + 1) % BLOCK_EVENTS === 0) write();
    },
    rollback(seqAgain) {
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

interface EventRow {
  id: string;
  given_id: number;
  type: string;
  source: string;
  tenant_id: string;
  ordering_key: string | null;
  details: string | null;
  received_at: number;
  delivery_count: number;
}
