import { describe, expect, it } from "vitest";
import { PosthornError } from "../../../src/domain/errors.ts";
import type { NewValidationRow } from "../../../src/store/port/validations.ts";
import { NOON } from "../../support/store-fixtures.ts";
import { inFreshPlace, type StoreHarness } from "./harness.ts";

function row(endpoint: string, change: Partial<NewValidationRow> = {}): NewValidationRow {
  const document = Buffer.from(`{"title":"${endpoint}"}`);
  return {
    endpoint,
    format: "json",
    document: new Uint8Array(document),
    hash: "ab".repeat(32),
    restoredFrom: undefined,
    createdAt: NOON,
    createdBy: "key_1",
    ...change,
  };
}

const deleted = (endpoint: string, change: Partial<NewValidationRow> = {}) =>
  row(endpoint, { document: undefined, hash: undefined, ...change });

export function validationsContract(harness: StoreHarness): void {
  describe("validations", () => {
    it("get one sequence of versions for each endpoint, whatever their format", () =>
      inFreshPlace(harness, async (place) => {
        expect(await place.store.addValidations([row("orders"), row("orders", { format: "xsd" })])).toEqual([1, 2]);
        expect(await place.store.addValidations([row("users"), row("orders", { restoredFrom: 1 })])).toEqual([1, 3]);
        const latest = (await (await place.kill()).loadValidations()).map(
          ({ endpoint, format, version, restoredFrom }) => ({ endpoint, format, version, restoredFrom }),
        );
        expect(latest).toEqual([
          { endpoint: "orders", format: "json", version: 3, restoredFrom: 1 },
          { endpoint: "orders", format: "xsd", version: 2, restoredFrom: undefined },
          { endpoint: "users", format: "json", version: 1, restoredFrom: undefined },
        ]);
      }));

    it("keep their bytes, also those that are no text", () =>
      inFreshPlace(harness, async (place) => {
        const document = new Uint8Array([0xff, 0xfe, 0x3c, 0x00, 0x00, 0x27]);
        await place.store.addValidations([row("orders", { format: "xsd", document })]);
        const found = await (await place.reopen()).findValidation("orders", 1);
        expect(found?.document).toEqual(document);
        expect(found).toMatchObject({ size: 6, isDeleted: false, isMirrored: false, createdBy: "key_1" });
        expect(await place.store.findValidation("orders", 2)).toBeUndefined();
        expect(await place.store.findValidation("users", 1)).toBeUndefined();
      }));

    it("end with a version too, and what was there before can still be read", () =>
      inFreshPlace(harness, async (place) => {
        await place.store.addValidations([row("orders"), deleted("orders", { createdBy: "folder" })]);
        expect(await place.store.loadValidations()).toMatchObject([
          { version: 2, isDeleted: true, document: undefined, hash: undefined, size: 0, createdBy: "folder" },
        ]);
        expect((await place.store.findValidation("orders", 1))?.document).toEqual(row("orders").document);
      }));

    it("are listed by endpoint without their documents, the latest first, page by page", () =>
      inFreshPlace(harness, async (place) => {
        await place.store.addValidations([row("orders"), row("users"), row("orders"), deleted("orders")]);
        const first = await place.store.listValidationVersions("orders", { limit: 2, cursor: undefined });
        expect(first.rows.map(({ version }) => version)).toEqual([3, 2]);
        expect(first.rows[0]).not.toHaveProperty("document");
        const { nextCursor: cursor } = first;
        const last = await place.store.listValidationVersions("orders", { limit: 2, cursor });
        expect(last.rows.map(({ version, size }) => [version, size])).toEqual([[1, 18]]);
        expect(last.nextCursor).toBeUndefined();
        expect((await place.store.listValidationVersions("none", { limit: 2, cursor: undefined })).rows).toEqual([]);
      }));

    it("are known by their documents, and told to be in the folder", () =>
      inFreshPlace(harness, async (place) => {
        const { store } = place;
        await store.addValidations([row("orders", { hash: "aa" }), deleted("orders"), row("users", { hash: "bb" })]);
        expect(await store.hasValidationDocument("orders", "json", "aa")).toBe(true);
        expect(await store.hasValidationDocument("orders", "xsd", "aa")).toBe(false);
        expect(await store.hasValidationDocument("orders", "json", "bb")).toBe(false);
        await store.noteValidationMirrored("orders", [2]);
        const kept = await (await place.reopen()).loadValidations();
        expect(kept.map(({ endpoint, isMirrored }) => [endpoint, isMirrored])).toEqual([
          ["orders", true],
          ["users", false],
        ]);
      }));

    it("are written all or none", () =>
      inFreshPlace(harness, async (place) => {
        const broken = row("orders", { createdBy: undefined as unknown as string });
        await expect(place.store.addValidations([row("orders"), broken])).rejects.toBeInstanceOf(PosthornError);
        expect(await place.store.loadValidations()).toEqual([]);
      }));
  });
}
