import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { useCommandLine } from "../support/cli.ts";

const DOCUMENT = `openapi: 3.1.0
webhooks:
  order.created:
    post:
      description: New order placed
      x-posthorn: { producer: Odoo Sales, consumers: [Inventory] }
      requestBody:
        content:
          application/json:
            schema: { type: object, required: [id] }
            example: { id: 7 }
`;

const used = useCommandLine();

describe("posthorn event-types", () => {
  it("imports a document, after a look at what would change, and shows what is there", async () => {
    await writeFile(join(used.cli.path, "openapi.yaml"), DOCUMENT);
    const dry = await used.cli.run(["event-types", "import", "openapi.yaml", "--dry-run"]);
    expect(dry.stdout).toBe("order.created  would be created\n1 event type would be changed, 0 unchanged\n");
    expect((await used.cli.run(["event-types"])).stderr).toContain("no event types found");
    const done = await used.cli.run(["event-types", "import", "openapi.yaml"]);
    expect(done.stdout).toBe("order.created  created\n1 event type changed, 0 unchanged\n");

    const list = await used.cli.run(["event-types", "list"]);
    expect(list.stdout).toMatch(
      /^EVENT TYPE .*\norder\.created +active +1\.0 +Odoo Sales +Inventory +New order placed\n$/,
    );
    expect((await used.cli.run(["event-types", "--status", "deprecated"])).stdout).toBe("");
    const shown = await used.cli.run(["event-types", "show", "order.created"]);
    expect(shown.stdout).toMatch(
      /enforced +yes\n[^]*version 1\.0\n\{[^]*"required"[^]*example\n\{\n {2}"id": 7\n\}\n$/,
    );
    const json = JSON.parse((await used.cli.run(["event-types", "show", "order.created", "--json"])).stdout) as object;
    expect(json).toMatchObject({ name: "order.created", managed_by: "api" });
  });

  it("exports a document that the import takes back", async () => {
    const { stdout } = await used.cli.run(["event-types", "export"]);
    await writeFile(join(used.cli.path, "exported.json"), stdout);
    const again = await used.cli.run(["event-types", "import", "exported.json", "--json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({ created: [], updated: [], unchanged: ["order.created"] });
  });

  it("shows a publisher what is wrong with a payload", async () => {
    const refused = await used.cli.run(["send", "order.created", "--data", "{}"]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("/id is missing. (schema_mismatch)");
  });

  it("says in one line what it could not do", async () => {
    await writeFile(join(used.cli.path, "broken.yaml"), "a: [");
    const codes: number[] = [];
    for (const args of [
      ["import", "none.yaml"],
      ["import", "broken.yaml"],
      ["shwo", "x"],
      ["show", "no.such"],
    ]) {
      const { exitCode, stderr } = await used.cli.run(["event-types", ...args]);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      codes.push(exitCode ?? -1);
    }
    expect(codes).toEqual([2, 2, 2, 1]);
  });
});
