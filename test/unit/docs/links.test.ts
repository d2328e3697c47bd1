import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { findBrokenLinks } from "../../support/docs/find-broken-links.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";
import { listAnchors, listPages, readPage, type Page } from "../../support/docs/markdown.ts";

const pages = listPages();
/** Pages for those who change the code. Recipes that make new files are followed by tests of their own. */
const ABOUT_CODE = ["AGENTS.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/extend/inside.md", "docs/extend/tests.md"];
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

  it("name files and folders of the code that are there", () => {
    const paths = listSourcePaths();
    const about = pages.filter(({ path }) => ABOUT_CODE.includes(path));
    expect(about.flatMap((page) => findMissingPaths(page, paths))).toEqual([]);
    expect(about.map(({ path }) => path)).toEqual(expect.arrayContaining(ABOUT_CODE));
    const page = {
      path: "a.md",
      text: "`deliver/lane.ts`, `wire/`, `no-such-file.ts`, `ane.ts`, `deliver/no-such-folder/`",
    };
    expect(findMissingPaths(page, paths)).toEqual([
      "a.md: no-such-file.ts",
      "a.md: ane.ts",
      "a.md: deliver/no-such-folder/",
    ]);
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

/** Each file and folder of the repository as `/path`; folders end in `/`. */
function listSourcePaths(): readonly string[] {
  const out = execFileSync("git", ["ls-files"], { cwd: PROJECT_ROOT, encoding: "utf8" });
  const files = out.split("\n").filter((path) => path !== "");
  const folders = files.flatMap((path) => path.split("/").map((_, index, parts) => parts.slice(0, index).join("/")));
  return [...files.map((path) => `/${path}`), ...new Set(folders.map((path) => `/${path}/`))];
}

function findMissingPaths({ path, text }: Page, paths: readonly string[]): readonly string[] {
  const named = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)*(?:\.(?:tsx?|mjs|sql)|\/))`/g)].map(
    ([, name]) => name as string,
  );
  // What is built or measured is not in the repository.
  const sources = named.filter((name) => !/^(?:dist|bench\/results)\//.test(name));
  return sources.filter((name) => !paths.some((known) => known.endsWith(`/${name}`))).map((name) => `${path}: ${name}`);
}
