import { describe, expect, it } from "vitest";
import { type Entry, etagOf as etagOfEntry } from "../../src/resources/resource.ts";
import { createRegistry, type Made, type Once, type Registry } from "../../src/resources/registry.ts";
import type { RecordKind, StoredRecord } from "../../src/store/port/records.ts";
import type { Store } from "../../src/store/store.ts";
import { NOON } from "../support/store-fixtures.ts";

/** What a resource tells of itself, to be held to what every resource promises. */
export interface ResourceCase {
  name: string;
  kind: RecordKind;
  /** Whose the things are that it makes here; left out where the kind belongs to the whole gateway. */
  tenantId?: string | undefined;
  /** Two ids that can be given to things of this kind. */
  ids: readonly [string, string];
  /** There is only PUT: what is made again is changed, and no request has an `Idempotency-Key`. */
  isMadeByPut?: true;
  /** What `If-Match` says of it; its record's version unless it has numbers of its own. */
  etagOf?(entry: Entry<unknown>): string;
  /** Why what is removed is still there, marked as such; left out where it is gone. */
  keepsRemoved?: string | undefined;
  /** The configuration declares no such things: there is no `declare`. */
  isNeverDeclared?: true;
  open(registry: Registry, store: Store): Promise<OpenResource>;
}

/** `note` is any text that a user can set, and that is seen again by `noteOf`. */
export interface OpenResource {
  make(id: string, note: string, once?: Once): Promise<Made<unknown>>;
  change(id: string, note: string, ifMatch?: string): Promise<Entry<unknown>>;
  remove(id: string, ifMatch?: string): Promise<unknown>;
  find(id: string): Entry<unknown> | undefined;
  noteOf(id: string): string | undefined;
  /** Says which have left the configuration. */
  declare?(things: readonly { id: string; note: string }[]): Promise<readonly string[]>;
}

export interface RegistryPlace {
  store: Store;
  remove(): Promise<void>;
}

interface Bench {
  store: Store;
  /** Two processes, as far as they know. */
  one: OpenResource;
  other: OpenResource;
  otherRegistry: Registry;
  open(): Promise<OpenResource>;
  recordsNow(): Promise<readonly StoredRecord[]>;
}

const errorCode = (error: unknown) => (error as { code?: unknown }).code;

/** What every resource promises, also when two processes change it on one store. */
export function registryContract(resource: ResourceCase, openPlace: () => Promise<RegistryPlace>): void {
  const { kind, tenantId = "", ids, etagOf = etagOfEntry, keepsRemoved } = resource;
  const isMadeByPut = resource.isMadeByPut === true;
  const isDeclared = resource.isNeverDeclared !== true;
  const [id, otherId] = ids;

  describe(`the registry contract: ${resource.name}`, () => {
    async function onTwo(run: (bench: Bench) => Promise<void>): Promise<void> {
      const place = await openPlace();
      let at = NOON;
      const createTestRegistry = () => createRegistry({ records: place.store.records, clock: { wall: () => ++at } });
      const open = (registry = createTestRegistry()) => resource.open(registry, place.store);
      const recordsNow = async () => (await place.store.records.load([kind])).records;
      try {
        const otherRegistry = createTestRegistry();
        const [one, other] = [await open(), await open(otherRegistry)];
        await run({ store: place.store, one, other, otherRegistry, open, recordsNow });
      } finally {
        await place.remove();
      }
    }
    const once = (fingerprint: string): Once => ({ scope: "contract", key: "key", fingerprint, tenantId });

    // What does not apply to the resource is no case of its contract.
    const whereMadeOnce = isMadeByPut ? [] : [resource];
    const whereGone = keepsRemoved === undefined ? [resource] : [];
    const whereDeclared = isDeclared ? [resource] : [];

    it("shows what was made, and another registry does when it follows", () =>
      onTwo(async ({ one, other, otherRegistry }) => {
        const { entry, isReplay } = await one.make(id, "first");
        expect([isReplay, one.noteOf(id), one.find(id)?.version]).toEqual([false, "first", entry.version]);
        expect(other.find(id)).toBeUndefined();
        await otherRegistry.follow();
        expect(other.find(id)).toEqual(one.find(id));
        if (isMadeByPut) return;
        await expect(one.make(id, "again")).rejects.toMatchObject({ code: "conflict" });
        await expect(other.make(id, "again")).rejects.toMatchObject({ code: "conflict" });
      }));

    it("loads what was there", () =>
      onTwo(async ({ one, open }) => {
        await one.make(id, "kept");
        const later = await open();
        expect(later.find(id)).toEqual(one.find(id));
        expect(later.declare !== undefined).toBe(isDeclared);
      }));

    it.for(whereMadeOnce)("refuses what is taken even where its maker is not followed yet", () =>
      onTwo(async ({ one, other }) => {
        await one.make(id, "first");
        await expect(other.make(id, "second")).rejects.toMatchObject({ code: "conflict" });
        expect(other.noteOf(id)).toBe("first");
      }),
    );

    it("lets one of two with one If-Match change it", () =>
      onTwo(async ({ one, other, otherRegistry }) => {
        const seen = etagOf((await one.make(id, "first")).entry);
        await otherRegistry.follow();
        const results = await Promise.allSettled([one.change(id, "a", seen), other.change(id, "b", seen)]);
        const [won] = results.filter(({ status }) => status === "fulfilled");
        const [lost] = results.filter(({ status }) => status === "rejected");
        const now = etagOf((won as PromiseFulfilledResult<Entry<unknown>>).value);
        expect(lost).toMatchObject({ reason: { code: "precondition_failed", details: { etag: now } } });
        expect((lost as PromiseRejectedResult).reason).toHaveProperty("message", expect.stringContaining(now));
        await otherRegistry.follow();
        expect([one.noteOf(id), other.noteOf(id)]).toEqual(results[0] === won ? ["a", "a"] : ["b", "b"]);
        // In one process, too.
        const again = await Promise.allSettled([one.change(id, "c", now), one.change(id, "d", now)]);
        expect(again.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
        await expect(one.remove(id, now)).rejects.toMatchObject({ code: "precondition_failed" });
        // Whoever has seen more than this process is believed.
        const latest = etagOf(await one.change(id, "e"));
        await other.change(id, "f", latest);
        expect(other.noteOf(id)).toBe("f");
      }));

    it("makes both of two changes without If-Match, one on top of the other", () =>
      onTwo(async ({ one, other, otherRegistry, recordsNow }) => {
        const { version } = (await one.make(id, "first")).entry;
        await otherRegistry.follow();
        const changed = await Promise.all([one.change(id, "a"), other.change(id, "b")]);
        const versions = changed.map((entry) => entry.version);
        expect(new Set([version, ...versions]).size).toBe(3);
        expect((await recordsNow()).map((record) => record.version)).toContain(Math.max(...versions));
      }));

    it.for(whereMadeOnce)("carries a request with an Idempotency-Key out once, in either process", () =>
      onTwo(async ({ one, other }) => {
        const made = await one.make(id, "first", once("f"));
        expect(await one.make(id, "first", once("f"))).toEqual({ entry: made.entry, isReplay: true });
        expect(await other.make(id, "first", once("f"))).toEqual({ entry: made.entry, isReplay: true });
        for (const resourceNow of [one, other]) {
          const reused = resourceNow.make(otherId, "second", once("g"));
          await expect(reused).rejects.toMatchObject({ code: "idempotency_key_reused" });
        }
        expect(one.find(otherId)).toBeUndefined();
        if (keepsRemoved !== undefined) return;
        await one.remove(id);
        await expect(other.make(id, "first", once("f"))).rejects.toMatchObject({ code: "conflict" });
      }),
    );

    it.for(whereMadeOnce)("makes one thing when the same request comes to both at once", () =>
      onTwo(async ({ one, other, recordsNow }) => {
        const before = (await recordsNow()).length;
        const made = await Promise.all([one, other, one, other].map((each) => each.make(id, "first", once("f"))));
        expect(made.map(({ isReplay }) => isReplay).filter((isReplay) => !isReplay)).toHaveLength(1);
        expect(new Set(made.map(({ entry }) => entry.version)).size).toBe(1);
        expect(await recordsNow()).toHaveLength(before + 1);
      }),
    );

    it.for(whereMadeOnce)("never answers two requests with one Idempotency-Key that say different things", () =>
      onTwo(async ({ store, one, other, recordsNow }) => {
        const before = (await recordsNow()).length;
        const results = await Promise.allSettled([
          one.make(id, "first", once("f")),
          other.make(otherId, "second", once("g")),
          one.make(otherId, "second", once("g")),
        ]);
        expect(results.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
        expect(await recordsNow()).toHaveLength(before + 1);
        const fingerprint = (await store.records.findMark("contract", "key"))?.fingerprint;
        const codes = results.map((result) => (result.status === "fulfilled" ? "made" : errorCode(result.reason)));
        const reused = "idempotency_key_reused";
        expect(codes).toEqual(fingerprint === "f" ? ["made", reused, reused] : [reused, "made", "made"]);
      }),
    );

    it.for(whereGone)("is gone when deleted, leaves a tombstone, and can come back under its number", () =>
      onTwo(async ({ store, one, other, otherRegistry }) => {
        const { seq, version } = (await one.make(id, "first")).entry;
        await otherRegistry.follow();
        await one.remove(id);
        expect([one.find(id), other.find(id)?.version]).toEqual([undefined, version]);
        await expect(other.remove(id)).rejects.toMatchObject({ code: "not_found" });
        expect(other.find(id)).toBeUndefined();
        const changes = await store.records.changesSince(version, [kind]);
        expect(changes.records.find((record) => record.id === id)).toMatchObject({ data: undefined, seq });
        expect((await one.make(id, "second")).entry.seq).toBe(seq);
        await otherRegistry.follow();
        expect(other.noteOf(id)).toBe("second");
      }),
    );

    it("refuses by name what a newer release wrote, and keeps it as it is", () =>
      onTwo(async ({ store, one, other, otherRegistry, open, recordsNow }) => {
        const { version } = (await one.make(id, "first")).entry;
        const [data, format] = ['{"from":"the future"}', 999];
        const newer = { act: "put", kind, tenantId, id, expected: version, format, data } as const;
        await store.records.write({ changes: [newer], at: NOON });
        const later = await open();
        // One knows it from its memory, one has yet to learn of it, one found it at its start.
        await otherRegistry.follow();
        for (const each of [one, other, later]) {
          const tries = [
            each.make(id, "x"),
            each.remove(id),
            each.change(id, "x"),
            each.declare?.([{ id, note: "x" }]),
          ];
          const refusal = { code: "newer_format", message: expect.stringContaining(id) as string };
          const made = tries.filter((attempt) => attempt !== undefined);
          await Promise.all(made.map((tried) => expect(tried).rejects.toMatchObject(refusal)));
          expect(each.find(id)).toBeUndefined();
        }
        const kept = (await recordsNow()).find((record) => record.id === id);
        expect(kept).toMatchObject({ data, format });
      }));

    it.for(whereDeclared)("takes over what is declared, and lets go of what has left the file", () =>
      onTwo(async ({ one, other }) => {
        const declare = one.declare as NonNullable<OpenResource["declare"]>;
        const things = [
          { id, note: "declared" },
          { id: otherId, note: "other" },
        ];
        expect(await declare(things)).toEqual([]);
        const { version } = one.find(id) ?? {};
        expect(await declare(things)).toEqual([]);
        // What did not change was not written.
        expect(one.find(id)?.version).toBe(version);
        for (const each of [one, other]) {
          await expect(each.remove(id)).rejects.toMatchObject({ code: "managed_by_config" });
          const changing = each.change(id, "x");
          await expect(changing).rejects.toMatchObject({ code: "managed_by_config" });
        }
        expect(await other.declare?.([{ id: otherId, note: "changed" }])).toEqual([id]);
        expect([other.noteOf(id), other.noteOf(otherId)]).toEqual(["declared", "changed"]);
        await one.remove(id);
        expect(one.find(id)).toBeUndefined();
      }),
    );
  });
}
