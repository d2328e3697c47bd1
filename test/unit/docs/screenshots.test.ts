import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  fileOf,
  FOLDER,
  listCommitted,
  listFiles,
  listPages,
  LOOKS,
  looksOf,
} from "../../../scripts/screenshots/pictures.ts";
import { listPages as listDocuments, readPage } from "../../support/docs/markdown.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const NAMED = /(?:src|srcset)="([^"]*screenshots\/[^"]+)"/g;

const findShown = ({ path, text }: { path: string; text: string }) =>
  [...text.matchAll(NAMED)].map(([, file = ""]) => join(dirname(path), file));
const findLost = (page: { path: string; text: string }) =>
  findShown(page).filter((path) => !existsSync(join(PROJECT_ROOT, path)));

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

describe("the pictures of the dashboard", () => {
  it("can be taken of all its pages, in both themes and widths", async () => {
    const names = (await listPages()).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(expect.arrayContaining(["overview", "events-one", "subscriptions-edit", "sources-new"]));
    expect(looksOf("events", true)).toEqual(Object.keys(LOOKS));
    const files = await listFiles();
    expect(files).toEqual(expect.arrayContaining(names.map((name) => fileOf(name, "dark"))));
    expect(files).toEqual(expect.arrayContaining(listCommitted()));
  });

  it("are in the checkout where a page shows them, and no others", () => {
    const shown = listDocuments().flatMap(findShown);
    expect([...new Set(shown)].toSorted()).toEqual(
      listCommitted()
        .map((file) => `docs/screenshots/${file}`)
        .toSorted(),
    );
    expect(readdirSync(FOLDER).toSorted()).toEqual(listCommitted().toSorted());
    const lost = { path: "docs/start/tour.md", text: '<img src="../screenshots/gone.light.png">' };
    expect(findLost(lost)).toEqual(["docs/screenshots/gone.light.png"]);
  });

  it("are each of something else", () => {
    const pictures = readdirSync(FOLDER).map((name) => ({ name, bytes: readFileSync(join(FOLDER, name)) }));
    expect(findTwins(pictures)).toEqual([]);
    const [a, b] = [Buffer.from("a"), Buffer.from("b")];
    expect(findTwins([a, b, a].map((bytes, at) => ({ name: `${at}.png`, bytes })))).toEqual([
      "2.png is the same picture as 0.png",
    ]);
  });

  it("stand in the README, three in both themes", () => {
    const { text } = readPage("README.md");
    expect(listDocuments().flatMap(findLost)).toEqual([]);
    expect([...text.matchAll(NAMED)]).toHaveLength(6);
    expect([...text.matchAll(/<img [^>]*alt="[^"]{20,}"/g)]).toHaveLength(3);
  });
});
