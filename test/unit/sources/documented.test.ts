import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createProviderKinds } from "../../../src/sources/kinds.ts";

const page = readFileSync(new URL("../../../docs/reference/sources.md", import.meta.url), "utf8");
const kinds = createProviderKinds({ fetchText: () => Promise.reject(new Error("offline")) });

it("docs/reference/sources.md has a row for every kind", () => {
  const rows = [...page.matchAll(/^\| `([a-z-]+)` \|.*\|.*\|.*\|/gm)].map(([, name]) => name);
  expect(kinds.map(({ name }) => name).filter((name) => !rows.includes(name))).toEqual([]);
});

it("docs/reference/sources.md explains every option of every kind", () => {
  const options = new Set(kinds.flatMap(({ options: schema }) => Object.keys(schema?.properties ?? {})));
  expect([...options].filter((option) => !page.includes(`\`${option}\``))).toEqual([]);
});
