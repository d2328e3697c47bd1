import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../support/run-command.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";

const RUN = fileURLToPath(new URL("../support/example-gateway.mjs", import.meta.url));
const guide = readFileSync(join(PROJECT_ROOT, "docs/extend/source-kind.md"), "utf8");

/** What the guide says to write into a file, which it names in the first line. */
function findExample(path: string): string {
  const [, example] = new RegExp(`\`\`\`ts\\n// ${path}\\n([^]*?)\`\`\``).exec(guide) ?? [];
  if (example === undefined) throw new Error(`docs/extend/source-kind.md has no example for ${path}`);
  return example;
}

const LINE = findExample("src/sources/provider-list.ts");

describe("the example of a source kind in docs/extend/source-kind.md", () => {
  const root = mkdtempSync(join(tmpdir(), "posthorn-contributing-"));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  beforeAll(() => {
    for (const name of ["src", "plugins"]) cpSync(join(PROJECT_ROOT, name), join(root, name), { recursive: true });
    for (const name of ["node_modules", "package.json", "tsconfig.json"]) {
      symlinkSync(join(PROJECT_ROOT, name), join(root, name));
    }
    writeFileSync(join(root, "src/sources/acme.ts"), findExample("src/sources/acme.ts"));
    appendFileSync(join(root, "src/sources/provider-list.ts"), LINE);
  });

  it("is a kind that works, with one file and one line", async () => {
    const { stdout, stderr } = await runCommand(process.execPath, ["--import", "tsx", RUN, root], PROJECT_ROOT);
    expect([stderr, LINE.trim().split("\n")]).toEqual(["", [LINE.trim()]]);
    expect(JSON.parse(stdout)).toMatchObject({
      made: { name: "shop", kind: "acme", status: "active" },
      taken: { status: "queued" },
      again: { status: "duplicate" },
      refused: { code: "bad_signature" },
      event: { event_type: "acme.order.paid", source: "shop" },
    });
  });

  it("has no mistake in its types", async () => {
    const settings = {
      extends: "./tsconfig.json",
      compilerOptions: { types: ["node"] },
      include: ["src/sources"],
    };
    writeFileSync(join(root, "tsconfig.example.json"), JSON.stringify(settings));
    const tsc = join(PROJECT_ROOT, "node_modules/typescript/bin/tsc");
    const { stdout, exitCode } = await runCommand(process.execPath, [tsc, "-p", "tsconfig.example.json"], root);
    expect([stdout, exitCode]).toEqual(["", 0]);
  });
});
