import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand, type Finished } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";

const VIOLATIONS: [rule: string, file: string, source: string][] = [
  ["no-process-env", "src/deliver/environment.ts", `export const port = process.env["PORT"];`],
  ["no-restricted-globals", "src/jobs/call.ts", `export const answer = await fetch("http://127.0.0.1/");`],
  ["no-default-export", "src/accept/default.ts", `export default 1;`],
  ["no-explicit-any", "src/accept/any.ts", `export const x: any = 1;`],
  ["eqeqeq", "src/accept/equal.ts", `export const same = (a: number, b: number): boolean => a == b;`],
  ["no-unused-vars", "src/accept/unused.ts", `const unused = 1;\nexport {};`],
  ["no-console", "src/accept/console.ts", `console.log("x");\nexport {};`],
  ["no-barrel-file", "src/accept/barrel.ts", `export * from "./any.ts";`],
  ["ban-ts-comment", "src/accept/ignore.ts", `// @ts-ignore\nexport const x: string = 1;`],
  [
    "no-floating-promises",
    "src/accept/floating.ts",
    `async function go() {}\nexport function run(): void {\n  go();\n}`,
  ],
  ["no-misused-promises", "src/accept/misused.ts", `export const xs = [1].filter(async () => true);`],
  ["consistent-type-imports", "src/accept/types.ts", `import { A } from "./a.ts";\nexport type B = A;`],
  ["filename-case", "src/accept/camelCase.ts", `export const x = 1;`],
];

const ALLOWED: [file: string, source: string][] = [
  ["src/config/environment.ts", `export const port = process.env["PORT"];`],
  ["src/destinations/wire/http-client.ts", `export const answer = await fetch("http://127.0.0.1/");`],
  ["test/unit/a.test.ts", `export const answer = await fetch(String(process.env["URL"]));`],
];

describe("the linter's rules", () => {
  let sample: SampleCheckout;
  let result: Finished;
  beforeAll(async () => {
    sample = await openSampleFolder();
    await symlink(join(PROJECT_ROOT, "node_modules"), join(sample.root, "node_modules"));
    for (const name of [".oxlintrc.json", "tsconfig.json"]) await cp(join(PROJECT_ROOT, name), join(sample.root, name));
    await sample.write("src/accept/a.ts", "export interface A {\n  a: number;\n}");
    for (const [, file, source] of VIOLATIONS) await sample.write(file, `${source}\n`);
    for (const [file, source] of ALLOWED) await sample.write(file, `${source}\n`);
    const oxlint = join(PROJECT_ROOT, "node_modules/oxlint/bin/oxlint");
    result = await runCommand(process.execPath, [oxlint, "--type-aware", "--format=unix", "src", "test"], sample.root);
  });
  afterAll(() => sample.remove());

  function complaintsAbout(file: string): string[] {
    return result.stdout.split("\n").filter((line) => line.startsWith(`${file}:`));
  }

  it.each(VIOLATIONS)("%s is found in %s", (rule, file) => {
    expect(complaintsAbout(file)).toContainEqual(expect.stringContaining(`(${rule})`));
  });

  it.each(ALLOWED)("nothing is found in %s", (file) => {
    expect(complaintsAbout(file)).toEqual([]);
  });
});
