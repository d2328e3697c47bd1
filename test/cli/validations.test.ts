import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SCHEMA = '{\n  "type": "object",\n  "required": ["id"]\n}\n';
const XSD = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="o" type="xs:int"/></xs:schema>`;

let cli: CommandLine;
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
  cli = await openCommandLine(gateway);
  const files = {
    "order.json": SCHEMA,
    "order.xsd": XSD,
    "good.json": '{"id":1}',
    "bad.json": "{}",
    "bad.xml": "<o>x</o>",
    "broken.json": '{"type":"objekt"}',
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(cli.path, name), text);
});
afterAll(async () => {
  await cli.remove();
  await gateway.close();
});

const run = (...args: string[]) => cli.run(["validations", ...args]);

describe("posthorn validations", () => {
  it("puts documents into force, lists them and gives them back as they came", async () => {
    expect((await run()).stderr).toContain("no validations found");
    expect((await run("put", "orders", "order.json")).stdout).toBe(
      "orders: saved; webhooks are checked with it from now on\n",
    );
    const json = await run("put", "orders", "order.xsd", "--json");
    expect(JSON.parse(json.stdout)).toEqual({ status: "validation_updated", endpoint: "orders" });
    expect((await run("list")).stdout).toMatch(/^ENDPOINT .*\norders +json +1 +45 B .*\norders +xsd +2 /);
    expect((await run("get", "orders")).stdout).toBe(SCHEMA);
    expect((await run("get", "orders", "--format", "xsd")).stdout).toBe(`${XSD}\n`);
    expect(JSON.parse((await run("get", "orders", "--format", "xsd", "--json")).stdout)).toMatchObject({
      document: XSD,
    });
    expect(await readFile(join(gateway.dataDir, "../validations/orders.xsd"), "utf8")).toBe(XSD);
  });

  it("tries a payload out, and ends with 1 when it does not pass", async () => {
    const good = await run("test", "orders", "good.json");
    expect([good.exitCode, good.stdout]).toEqual([0, "passes the validation of orders\n"]);
    const bad = await run("test", "orders", "bad.json");
    expect(bad.exitCode).toBe(1);
    expect(bad.stdout).toMatch(/^PLACE +LINE +WHAT IS WRONG\n\/id +- +is missing\n$/);
    const xml = await run("test", "orders", "bad.xml", "--json");
    expect(xml.exitCode).toBe(1);
    expect(JSON.parse(xml.stdout)).toMatchObject({ valid: false, errors: [{ path: "/o", line: 1 }] });
  });

  it("shows the versions, deletes, and brings back", async () => {
    expect((await run("delete", "orders", "--format", "xsd")).stdout).toBe("orders: deleted\n");
    const back = await run("rollback", "orders", "2");
    expect(back.stdout).toBe("orders: version 2 is in force again, as version 4\n");
    const { stdout } = await run("versions", "orders");
    expect(stdout).toMatch(/\n4 +xsd +in force, from 2 .*\n3 +xsd +deleted +- .*\n2 +xsd +- .*\n1 +json +in force /);
    expect(JSON.parse((await run("versions", "orders", "--json")).stdout)).toMatchObject({ next_cursor: null });
  });

  it("says in one line what it could not do", async () => {
    const codes: number[] = [];
    for (const args of [
      ["put", "orders", "none.json"],
      ["put", "orders", "broken.json"],
      ["put", "Orders", "order.json"],
      ["get", "nobody"],
      ["rollback", "orders", "x"],
      ["lst"],
    ]) {
      const { exitCode, stderr } = await run(...args);
      expect(stderr.trim().split("\n")).toHaveLength(1);
      codes.push(exitCode ?? -1);
    }
    expect(codes).toEqual([2, 1, 1, 1, 2, 2]);
  });
});
