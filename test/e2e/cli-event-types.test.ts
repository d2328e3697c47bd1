import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCliFolder, type CliFolder, type RunningGateway } from "../support/run-cli.ts";

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
const types = (schema: string) => `event_types:\n  - { name: a.b, versions: [{ version: "1", schema: ${schema} }] }\n`;

let folder: CliFolder;
let gateway: RunningGateway;

beforeAll(async () => {
  folder = await openCliFolder();
  gateway = await folder.startGateway();
  await gateway.printed("the new admin key is in", "stderr");
  folder.env["POSTHORN_URL"] = gateway.url;
  folder.env["POSTHORN_API_KEY"] = (await readFile(join(folder.path, "data/admin.key"), "utf8")).trim();
});
afterAll(async () => {
  await gateway.stop();
  await folder.remove();
});

describe("posthorn event-types", () => {
  it("imports a document, after a look at what would change, and shows what is there", async () => {
    await writeFile(join(folder.path, "openapi.yaml"), DOCUMENT);
    const dry = await folder.run(["event-types", "import", "openapi.yaml", "--dry-run"]);
    expect(dry.stdout).toBe("order.created  would be created\n1 event type would be changed, 0 unchanged\n");
    expect((await folder.run(["event-types"])).stderr).toContain("no event types found");
    const done = await folder.run(["event-types", "import", "openapi.yaml"]);
    expect(done.stdout).toBe("order.created  created\n1 event type changed, 0 unchanged\n");

    const list = await folder.run(["event-types", "list"]);
    expect(list.stdout).toMatch(
      /^EVENT TYPE .*\norder\.created +active +1\.0 +Odoo Sales +Inventory +New order placed\n$/,
    );
    expect((await folder.run(["event-types", "--status", "deprecated"])).stdout).toBe("");
    const shown = await folder.run(["event-types", "show", "order.created"]);
    expect(shown.stdout).toMatch(
      /enforced +yes\n[^]*version 1\.0\n\{[^]*"required"[^]*example\n\{\n {2}"id": 7\n\}\n$/,
    );
    const json = JSON.parse((await folder.run(["event-types", "show", "order.created", "--json"])).stdout) as object;
    expect(json).toMatchObject({ name: "order.created", managed_by: "api" });
  });

  it("exports a document that the import takes back", async () => {
    const { stdout } = await folder.run(["event-types", "export"]);
    await writeFile(join(folder.path, "exported.json"), stdout);
    const again = await folder.run(["event-types", "import", "exported.json", "--json"]);
    expect(JSON.parse(again.stdout)).toMatchObject({ created: [], updated: [], unchanged: ["order.created"] });
  });

  it("tells a publisher what is wrong with a payload", async () => {
    const refused = await folder.run(["send", "order.created", "--data", "{}"]);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain("/id is missing. (schema_mismatch)");
  });

  it("says in one line what it could not do", async () => {
    await writeFile(join(folder.path, "broken.yaml"), "a: [");
    const codes: number[] = [];
    for (const args of [
      ["import", "none.yaml"],
      ["import", "broken.yaml"],
      ["shwo", "x"],
      ["show", "no.such"],
    ]) {
      const { exitCode, stderr } = await folder.run(["event-types", ...args]);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      codes.push(exitCode ?? -1);
    }
    expect(codes).toEqual([2, 2, 2, 1]);
  });
});

describe("a start with declared event types", () => {
  it("ends with code 3 when a schema cannot be used, and names type, field and reason", async () => {
    await writeFile(join(folder.path, "bad.yaml"), types("{ type: objekt }"));
    const { exitCode, stderr } = await folder.run(["start", "-c", "bad.yaml", "--port", "0", "--data-dir", "other"]);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(
      /bad\.yaml:\d+:\d+ event_types\[0\]\S+ \(a\.b\): versions\[0\]\.schema is not a valid JSON Schema/,
    );
  });
});
