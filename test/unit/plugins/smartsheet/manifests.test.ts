import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openManifests, type Manifests } from "../../../../plugins/smartsheet/manifests.ts";
import { until } from "../../../support/api-client.ts";
import { createHastyClock } from "../../../support/hasty-clock.ts";

let folder: string;
let path: string;
let manifests: Manifests;
let told: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-manifest-"));
  path = join(folder, "workspace_manifest.json");
  told = [];
  manifests = openManifests({
    clock: createHastyClock(100),
    onBroken: (_, reason) => told.push(reason),
    onLoaded: (_, sheets) => told.push(`${sheets} sheets`),
  });
});
afterEach(() => {
  manifests.close();
  rmSync(folder, { recursive: true });
});

const write = (value: unknown) => writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
const namesOf = () => Object.fromEntries(manifests.find(path));

describe("a manifest", () => {
  it("is read from its file, and again when that has changed", async () => {
    write({ workspace: { id: 1, name: "Operations" }, sheets: [{ id: 4509506114742148, name: "Orders" }] });
    expect(namesOf()).toEqual({ "4509506114742148": "Orders" });
    write({ sheets: [{ id: "90071992547409931", name: "Tags and more" }] });
    await until(() => "90071992547409931" in namesOf());
  });

  it("stays as it was while its file is broken or gone, with one warning", async () => {
    write({ sheets: [{ id: 1, name: "Orders" }] });
    expect(namesOf()).toEqual({ 1: "Orders" });
    write("{broken");
    await until(() => told.some((text) => text.startsWith("The manifest is not JSON")));
    expect(namesOf()).toEqual({ 1: "Orders" });
    rmSync(path);
    await until(() => told.includes("The manifest cannot be read (ENOENT)."));
    expect(namesOf()).toEqual({ 1: "Orders" });
    write({ sheets: [{ id: 2, name: "Tags" }] });
    await until(() => "2" in namesOf());
    expect(told.filter((text) => text.startsWith("The manifest"))).toHaveLength(2);
  });

  it("that could never be read is our own trouble, until it can be", async () => {
    expect(() => manifests.find(path)).toThrow(expect.objectContaining({ code: "unavailable" }));
    write({ sheets: [] });
    await until(() => told.includes("0 sheets"));
    expect(namesOf()).toEqual({});
  });

  it("may stand in the source itself", () => {
    const inline = { sheets: [{ id: 1, name: "Orders" }] };
    expect(manifests.find(inline)).toBe(manifests.find(inline));
    expect([...manifests.find(inline)]).toEqual([["1", "Orders"]]);
  });

  it.each([
    [{}],
    [{ sheets: {} }],
    [{ sheets: [{ id: 1 }] }],
    [{ sheets: [{ id: "x", name: "a" }] }],
    [{ sheets: [{ id: 1.5, name: "a" }] }],
    [{ sheets: [{ id: 2 ** 53, name: "beyond what a float holds" }] }],
    [
      {
        sheets: [
          { id: 1, name: "a" },
          { id: "1", name: "b" },
        ],
      },
    ],
  ])("is rejected when it is %j", (manifest) => {
    expect(() => manifests.find(manifest)).toThrow(
      expect.objectContaining({ code: "invalid_field", field: "manifest" }),
    );
  });
});
