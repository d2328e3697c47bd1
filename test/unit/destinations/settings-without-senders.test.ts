import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";
import { describe, expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../../../src", import.meta.url));

const filesBelow = (folder: string) =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => posix.join(folder, relative(".", name)));

/** What a file loads when it is loaded: neither types nor what it imports later. */
function loadedBy(file: string): string[] {
  const { module } = parseSync(file, readFileSync(join(SRC, file), "utf8"));
  const imported = module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value);
  const passedOn = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest, isType }) => (moduleRequest === null || isType ? [] : [moduleRequest.value])),
  );
  return [...imported, ...passedOn].map((name) =>
    name.startsWith(".") ? posix.normalize(posix.join(posix.dirname(file), name)) : name,
  );
}

/** Everything that is loaded with these files. */
function loadedWith(files: readonly string[]): Set<string> {
  const seen = new Set(files);
  for (const file of seen) if (file.endsWith(".ts")) for (const next of loadedBy(file)) seen.add(next);
  return seen;
}

/** Senders, and what only they need: sockets, mail, brokers. */
const SENDING =
  /^destinations\/(?:senders\.ts|[^/]+\/sender\.ts|wire\/)|^queues\/(?:connections|amqp|azure-[^/]+\/open)|^(?:nodemailer|amqplib|@azure)/;

const sendersIn = (loaded: ReadonlySet<string>) => [...loaded].filter((file) => SENDING.test(file));

describe("settings of destinations", () => {
  for (const room of ["config", "resources"]) {
    it(`are read by ${room}/ without loading a sender`, () => {
      const loaded = loadedWith(filesBelow(room));
      expect(loaded).toContain("destinations/kinds.ts");
      expect(sendersIn(loaded)).toEqual([]);
    });
  }

  it("is a test that can fail: what opens the senders loads each of them", () => {
    const found = sendersIn(loadedWith(["gateway.ts"]));
    expect(found).toEqual(
      expect.arrayContaining(
        ["http", "email", "sms", "batch", "queue"].map((kind) => `destinations/${kind}/sender.ts`),
      ),
    );
    expect(found).toContain("destinations/wire/http-client.ts");
  });
});
