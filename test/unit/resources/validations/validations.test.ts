import * as fc from "fast-check";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ValidationFormat } from "../../../../src/model/validation.ts";
import { openValidations } from "../../../../src/resources/validations/validations.ts";
import { createRegistry } from "../../../../src/resources/registry.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/open.ts";
import { createStandingClock, NOON } from "../../../support/store-fixtures.ts";
import { useFolder } from "../../../support/store-folder.ts";

type Act =
  | { kind: "put"; format: ValidationFormat; text: string }
  | { kind: "remove"; format: ValidationFormat | undefined }
  | { kind: "rollBack"; version: number };

const format = fc.constantFrom<ValidationFormat>("json", "xsd");
/** `x` is what cannot be used. */
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("put" as const), format, text: fc.constantFrom("a", "b", "c", "x") }),
  fc.record({ kind: fc.constant("remove" as const), format: fc.option(format, { nil: undefined }) }),
  fc.record({ kind: fc.constant("rollBack" as const), version: fc.integer({ min: 1, max: 8 }) }),
);

/** What must be there after some acts, as simply as it can be said. */
class Model {
  readonly versions: { format: ValidationFormat; text: string | undefined }[] = [];
  readonly inForce = new Map<ValidationFormat, string>();

  apply(one: Act): void {
    if (one.kind === "put" && one.text !== "x") this.#set(one.format, one.text);
    if (one.kind === "remove") {
      for (const each of ["json", "xsd"] as const) {
        if (one.format === undefined || one.format === each) this.#end(each);
      }
    }
    const earlier = one.kind === "rollBack" ? this.versions[one.version - 1] : undefined;
    if (earlier?.text !== undefined) this.#set(earlier.format, earlier.text);
  }

  #set(each: ValidationFormat, text: string): void {
    if (this.inForce.get(each) === text) return;
    this.inForce.set(each, text);
    this.versions.push({ format: each, text });
  }

  #end(each: ValidationFormat): void {
    if (this.inForce.delete(each)) this.versions.push({ format: each, text: undefined });
  }
}

describe("validations", () => {
  const folder = useFolder();

  async function open() {
    const store = await openSqliteStore({
      file: join(folder.path, "posthorn.db"),
      createClock: () => createStandingClock(),
      dedupeHorizonMs: 1,
      onFatal: (error) => {
        throw error;
      },
      thread: false,
    });
    folder.onEnd(() => store.close());
    const options = {
      store,
      examine: async ({ document }: { document: Uint8Array }) =>
        Buffer.from(document).toString() === "x" ? "cannot be used" : undefined,
      mirror: async () => true,
    };
    const open = () => {
      const registry = createRegistry({ records: store.records, clock: { wall: () => NOON } });
      return openValidations({ ...options, registry, onChange: () => undefined });
    };
    return { store, open };
  }

  it("are what was put last, and every version stays what it was, after any acts and a start", async () => {
    const place = await open();
    const validations = await place.open();
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
        const endpoint = `run-${runs++}`;
        const model = new Model();
        for (const one of acts) {
          model.apply(one);
          const done =
            one.kind === "put"
              ? validations.put({ endpoint, format: one.format, document: Buffer.from(one.text), by: "key_1" })
              : one.kind === "remove"
                ? validations.remove(endpoint, one.format, "key_1")
                : validations.rollBack(endpoint, one.version, "key_1");
          await done.catch(() => undefined);
        }
        for (const each of [validations, await place.open()]) {
          const live = each.list().filter((row) => row.endpoint === endpoint);
          expect(new Map(live.map((row) => [row.format, Buffer.from(row.document).toString()]))).toEqual(model.inForce);
          expect((await each.latestVersion(endpoint)) ?? 0).toBe(model.versions.length);
        }
        for (const [n, expected] of model.versions.entries()) {
          const series = { kind: "validation", tenantId: "", series: endpoint } as const;
          const kept = await place.store.records.findVersion(series, n + 1);
          const text = kept?.blob === undefined ? undefined : Buffer.from(kept.blob).toString();
          expect({ id: kept?.id, text }).toEqual({ id: `${endpoint}.${expected.format}`, text: expected.text });
        }
      }),
      { numRuns: 30 },
    );
  });
});
