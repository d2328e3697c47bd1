import { describe, expect, it } from "vitest";
import { findBrokenLinks } from "../../support/docs/find-broken-links.ts";
import { listAnchors, listPages, readPage } from "../../support/docs/markdown.ts";

const pages = listPages();
const ROOMS = ["start", "how-to", "reference", "explanation", "extend"];

describe("the pages", () => {
  it("have no relative link that leads nowhere", () => {
    expect(pages.flatMap(findBrokenLinks)).toEqual([]);
  });

  it("would be found to have one", () => {
    const page = (text: string) => ({ path: "docs/start/page.md", text: `# Page\n\n## Here it is\n\n${text}\n` });
    expect(findBrokenLinks(page("[a](../README.md), [b](#here-it-is), [c](https://example.com/x)"))).toEqual([]);
    expect(findBrokenLinks(page("[a](../no-such-page.md)"))).toEqual([expect.stringContaining("there is no docs/no-")]);
    expect(findBrokenLinks(page("[a](#nowhere)"))).toEqual([expect.stringContaining("no heading #nowhere")]);
    expect(findBrokenLinks(page("[a](../../README.md#nowhere)"))).toEqual([expect.stringContaining("no heading")]);
    expect(findBrokenLinks(page("```\n[a](../no-such-page.md)\n```\n`[b](nowhere.md)`"))).toEqual([]);
    expect([...listAnchors("# A `b` c!\n## A b c\n## [Link](x.md): 2")]).toEqual(["a-b-c", "a-b-c-1", "link-2"]);
  });

  it("stand in the rooms of the index, which names each of them", () => {
    const index = readPage("docs/README.md");
    const inDocs = pages.map(({ path }) => path).filter((path) => path.startsWith("docs/") && path !== index.path);
    const places = inDocs.map((path) => path.split("/").slice(1, -1).join("/"));
    expect([...new Set(places)].filter((place) => !ROOMS.includes(place))).toEqual([]);
    const named = new Set([...index.text.matchAll(/\]\(([^)#]+)/g)].map(([, link]) => `docs/${link}`));
    expect(inDocs.filter((path) => !named.has(path))).toEqual([]);
  });
});
