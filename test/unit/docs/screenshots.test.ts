import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileOf, FOLDER, listFiles, listPages, LOOKS, looksOf } from "../../../scripts/screenshots/pictures.ts";
import { readPage } from "../../support/docs/markdown.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const NAMED = /(?:src|srcset)="(docs\/screenshots\/[^"]+)"/g;

/** What is there and should not be, and the other way round. */
function compare(there: readonly string[], wanted: readonly string[]): string[] {
  return [
    ...wanted.filter((file) => !there.includes(file)).map((file) => `${file} is missing: run npm run screenshots`),
    ...there.filter((file) => !wanted.includes(file)).map((file) => `${file} shows a page that is gone`),
  ];
}

const findLost = (text: string) =>
  [...text.matchAll(NAMED)].map(([, path = ""]) => path).filter((path) => !existsSync(join(PROJECT_ROOT, path)));

/** Pictures with the same bytes: what should have been done before one of them was not. */
function findTwins(pictures: readonly { name: string; bytes: Buffer }[]): string[] {
  const firstOf = new Map<string, string>();
  return pictures.flatMap(({ name, bytes }) => {
    const hash = createHash("sha256").update(bytes).digest("hex");
    const first = firstOf.get(hash);
    firstOf.set(hash, first ?? name);
    return first === undefined ? [] : [`${name} is the same picture as ${first}`];
  });
}

const MAX_BYTES = 5_000_000;

describe("the pictures of the dashboard", () => {
  it("are of all its pages, in both themes and widths, and of nothing else", async () => {
    expect(compare(readdirSync(FOLDER), await listFiles())).toEqual([]);
    const names = (await listPages()).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(["overview", "events-one", "subscriptions-edit", "sources-new"]));
    expect(looksOf("events", true)).toEqual(Object.keys(LOOKS));
  });

  it("would be missed of a new page, and found of one that is gone", () => {
    const page = looksOf("reports", true).map((look) => fileOf("reports", look));
    expect(compare([], page)).toHaveLength(4);
    expect(compare(page, [])).toHaveLength(4);
    expect(compare(page, page)).toEqual([]);
  });

  it("are each of something else, and together not too large for a checkout", () => {
    const pictures = readdirSync(FOLDER).map((name) => ({ name, bytes: readFileSync(join(FOLDER, name)) }));
    expect(findTwins(pictures)).toEqual([]);
    expect(pictures.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThan(MAX_BYTES);
    const [a, b] = [Buffer.from("a"), Buffer.from("b")];
    expect(findTwins([a, b, a].map((bytes, at) => ({ name: `${at}.png`, bytes })))).toEqual([
      "2.png is the same picture as 0.png",
    ]);
  });

  it("are there where the README shows them, three in both themes", () => {
    const { text } = readPage("README.md");
    expect(findLost(text)).toEqual([]);
    expect([...text.matchAll(NAMED)]).toHaveLength(6);
    expect([...text.matchAll(/<img [^>]*alt="[^"]{20,}"/g)]).toHaveLength(3);
    expect(findLost('<img src="docs/screenshots/gone.light.png">')).toEqual(["docs/screenshots/gone.light.png"]);
  });
});
