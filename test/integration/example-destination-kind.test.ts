import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { openJournalSender } from "../support/journal/sender.ts";
import { JOURNAL } from "../support/journal/settings.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

/** The code of the example of docs/extend, by the file that it is to stand in. */
function exampleOf(file: string): string {
  const [, code = ""] =
    new RegExp(`\`${file}\`[^\n]*\n+\`\`\`ts\n([^]*?)\`\`\``).exec(read("docs/extend/destination-kind.md")) ?? [];
  return code;
}

describe("the worked example of a kind of destination", () => {
  let folder: string | undefined;
  let gateway: TestGateway | undefined;
  afterEach(async () => {
    await gateway?.close();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  it("is the code that is tried out here", () => {
    for (const file of ["settings.ts", "sender.ts"]) {
      const here = read(`test/support/journal/${file}`)
        .replaceAll('"../../../src/model/', '"../../model/')
        .replaceAll('"../../../src/destinations/', '"../');
      expect(exampleOf(`src/destinations/journal/${file}`)).toBe(here);
    }
  });

  it("is one folder, and one line in each of two lists", () => {
    const [listed = ""] = /^export const KINDS[^;]*;$/m.exec(read("src/destinations/kinds.ts")) ?? [];
    expect(exampleOf("src/destinations/kinds.ts").trim()).toBe(listed.replace("\n];", "\n  JOURNAL,\n];"));
    const line = exampleOf("src/destinations/senders.ts");
    expect(read("src/destinations/senders.ts")).toContain("  http: openHttpSender,\n");
    expect(line).toBe("  journal: openJournalSender,\n");
  });

  it("delivers what is published to the new kind, and says what is wrong with its settings", async () => {
    folder = mkdtempSync(join(tmpdir(), "posthorn-journal-"));
    const path = join(folder, "journal");
    gateway = await startTestGateway({ destinationKinds: [{ ...JOURNAL, open: openJournalSender }] });
    const make = (name: string, destination: object) =>
      gateway?.post("/api/v1/subscriptions", { name, kind: "journal", destination, events: ["order.*"] });
    expect((await make("wrong", { path: "journal" }))?.json).toMatchObject({ status: 422, field: "destination.path" });
    expect((await make("right", { path }))?.status).toBe(201);
    await gateway.publish({ event_type: "order.created", event_id: "e1", payload: { total: 1 } });
    await gateway.settled();
    expect(readFileSync(path, "utf8")).toBe(`e1 ${Buffer.from('{"total":1}').toString("base64")}\n`);
    const { attempts } = await gateway.deliveryOf("e1");
    expect(attempts).toMatchObject([{ result: "success", url: `file:${path}`, record: { lines: 1 } }]);
  });
});
