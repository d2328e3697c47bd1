import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Collection, Change, Resource } from "../../src/resources/resource.ts";
import { createRegistry } from "../../src/resources/registry.ts";
import type { Records } from "../../src/store/port/records.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { collectGarbage } from "../support/collect-garbage.ts";
import { createStandingClock, newEvent, NOON } from "../support/store-fixtures.ts";
import { registryContract, type RegistryPlace } from "./registry-contract.ts";
import { eventTypesCase } from "./resources/event-types.ts";
import { targetsCase } from "./resources/targets.ts";
import { validationsCase } from "./resources/validations.ts";
import { sourcesCase } from "./resources/sources.ts";
import { keysCase } from "./resources/keys.ts";
import { tenantsCase } from "./resources/tenants.ts";
import { subscriptionsCase } from "./resources/subscriptions.ts";
import { DEDUPE_HORIZON_MS } from "./store/harness.ts";
import { MEMORY_FOLDER } from "../support/memory-folder.ts";

afterAll(collectGarbage);

async function openPlace(): Promise<RegistryPlace> {
  const folder = mkdtempSync(join(MEMORY_FOLDER, "posthorn-registry-"));
  const store = await openSqliteStore({
    file: join(folder, "posthorn.db"),
    createClock: () => createStandingClock(),
    dedupeHorizonMs: DEDUPE_HORIZON_MS,
    onFatal: (error) => {
      throw error;
    },
    thread: false,
    synchronous: "OFF",
  });
  return {
    store,
    async remove() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

registryContract(eventTypesCase, openPlace);
registryContract(targetsCase, openPlace);
registryContract(validationsCase, openPlace);
registryContract(sourcesCase, openPlace);
registryContract(keysCase, openPlace);
registryContract(tenantsCase, openPlace);
registryContract(subscriptionsCase, openPlace);

interface Note {
  id: string;
  text: string;
}
const NOTES: Resource<Note> = {
  kind: "target",
  noun: "note",
  format: 1,
  read: ({ id, data }) => ({ id, text: (JSON.parse(data) as { text: string }).text }),
  write: ({ text }) => ({ data: JSON.stringify({ text }) }),
  keyOf: ({ id }) => ({ id }),
};
const OTHER_NOTES: Resource<Note> = { ...NOTES, kind: "source" };

describe("a change of the registry", () => {
  async function onTwo(
    run: (bench: Bench) => Promise<void>,
    weaken: (records: Records) => Partial<Records> = () => ({}),
  ) {
    const { store, remove } = await openPlace();
    try {
      const open = async () => {
        const records = { ...store.records, ...weaken(store.records) };
        const registry = createRegistry({ records, clock: { wall: () => NOON } });
        return { registry, notes: await registry.open(NOTES), others: await registry.open(OTHER_NOTES) };
      };
      await run({ store, one: await open(), other: await open() });
    } finally {
      await remove();
    }
  }
  interface Side {
    registry: ReturnType<typeof createRegistry>;
    notes: Collection<Note>;
    others: Collection<Note>;
  }
  interface Bench {
    store: RegistryPlace["store"];
    one: Side;
    other: Side;
  }

  /** A rule over several things: no two notes, of whatever id, say the same. */
  function add({ registry, notes }: Side, id: string, text: string): Promise<string> {
    return registry.change(notes, async (draft) => {
      const isTaken = draft.list(notes).some(({ thing }) => thing.text === text);
      // What is decided late is still decided by what was read.
      await Promise.resolve();
      if (isTaken) return "taken";
      draft.put(notes, { id, text });
      return "added";
    });
  }
  const bothSayTheSame = ({ one, other }: Bench) =>
    Promise.all([add(one, "a", "same"), add(other, "b", "same")]).then((results) => results.sort());

  it("keeps a rule over several things, also when two processes change them at once", () =>
    onTwo(async (bench) => {
      expect(await bothSayTheSame(bench)).toEqual(["added", "taken"]);
      expect((await bench.store.records.load(["target"])).records).toHaveLength(1);
    }));

  it("would break that rule without guards (control)", () =>
    onTwo(
      async (bench) => expect(await bothSayTheSame(bench)).toEqual(["added", "added"]),
      (records) => ({ write: (request) => records.write({ ...request, guards: [] }) }),
    ));

  /** A rule over two kinds: a note is only made while there is the other. */
  function addBeside({ registry, notes, others }: Side): Promise<string> {
    return registry.change(notes, (draft) => {
      if (draft.find(others, "needed") === undefined) return "refused";
      draft.put(notes, { id: "a", text: "beside" });
      return "added";
    });
  }
  async function removedMeanwhile({ one, other }: Bench): Promise<string> {
    await one.registry.change(one.others, (draft) => void draft.put(one.others, { id: "needed", text: "" }));
    await other.registry.follow();
    await one.registry.change(one.others, (draft) => draft.remove(one.others, "needed"));
    return addBeside(other);
  }

  it("is checked again when what was read is different", () =>
    onTwo(async (bench) => expect(await removedMeanwhile(bench)).toBe("refused")));

  it("would not be without checks (control)", () =>
    onTwo(
      async (bench) => expect(await removedMeanwhile(bench)).toBe("added"),
      (records) => ({ write: (request) => records.write({ ...request, checks: [] }) }),
    ));

  it("is seen in memory only through the store, its own too", () =>
    onTwo(
      async ({ one }) => {
        expect(await add(one, "a", "lost")).toBe("added");
        expect(one.notes.find("a")).toBeUndefined();
      },
      () => ({ changesSince: (version) => Promise.resolve({ version, records: [] }) }),
    ));

  it("is written with its events, all or nothing", () =>
    onTwo(async ({ store, one, other }) => {
      const told: string[] = [];
      const changeBoth = ({ registry, notes, others }: Side, times: string[]) =>
        registry.change(notes, (draft) => {
          times.push("judged");
          if (draft.find(notes, "a") !== undefined) throw new Error("there is one");
          draft.put(notes, { id: "a", text: "both" });
          draft.put(others, { id: "b", text: "both" });
          draft.accept(newEvent(), [], ({ kind }) => told.push(kind));
        });
      const [first, second]: string[][] = [[], []];
      const results = await Promise.allSettled([changeBoth(one, first ?? []), changeBoth(other, second ?? [])]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      expect([first, second]).toEqual([["judged"], ["judged", "judged"]]);
      expect(told).toEqual(["stored"]);
      expect((await store.reads.listEvents({}, { limit: 9, cursor: undefined })).rows).toHaveLength(1);
      expect((await store.records.load(["target", "source"])).records).toHaveLength(2);
    }));

  it("is given up when others are always faster", () =>
    onTwo(
      async ({ one }) => {
        await expect(add(one, "a", "never")).rejects.toMatchObject({ code: "unavailable" });
      },
      () => ({
        write: async ({ guards = [] }) => ({ kind: "rejected", why: "guard", guard: guards[0] as never }),
      }),
    ));

  it("tells listeners of every change once, in order", () =>
    onTwo(async ({ store }) => {
      const told: unknown[] = [];
      const registry = createRegistry({ records: store.records, clock: { wall: () => NOON } });
      const notes = await registry.open<Note>({
        ...NOTES,
        onChange: (changes) =>
          void told.push(...changes.map(({ before, after }) => [before?.thing.text, after?.thing.text])),
      });
      await Promise.all(
        ["x", "y"].map((text) => registry.change(notes, (draft) => draft.put(notes, { id: "a", text }))),
      );
      await registry.change(notes, (draft) => draft.remove(notes, "a"));
      await registry.follow();
      expect(told).toEqual([
        [undefined, "x"],
        ["x", "y"],
        ["y", undefined],
      ]);
    }));

  it("hides nobody else's when a listener fails, says so to its own author, and is announced again", () =>
    onTwo(async ({ store }) => {
      const told: string[] = [];
      let isBroken = false;
      const registry = createRegistry({ records: store.records, clock: { wall: () => NOON } });
      const listen = (name: string, mayFail: boolean) => ({
        onChange(changes: readonly Change<Note>[]) {
          if (mayFail && isBroken) throw new Error("the reader is busy");
          told.push(...changes.map(({ after }) => `${name} ${after?.thing.text}`));
        },
      });
      const notes = await registry.open<Note>({ ...NOTES, ...listen("note", true) });
      const others = await registry.open<Note>({ ...OTHER_NOTES, ...listen("other", false) });
      const put = (of: Collection<Note>, text: string) =>
        registry.change(of, (draft) => draft.put(of, { id: "a", text }));

      isBroken = true;
      const [broken, healthy] = await Promise.allSettled([put(notes, "x"), put(others, "y")]);
      expect(broken).toMatchObject({
        reason: { code: "internal_error", message: expect.stringContaining("is saved") },
      });
      expect(healthy.status).toBe("fulfilled");
      expect([told, notes.find("a")?.thing.text]).toEqual([["other y"], "x"]);
      await expect(registry.follow()).rejects.toThrow("the reader is busy");

      isBroken = false;
      await put(others, "z");
      expect(told.toSorted()).toEqual(["note x", "other y", "other z"]);
      await registry.follow();
      expect(told).toHaveLength(3);
    }));
});
