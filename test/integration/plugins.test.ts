import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Plugin } from "../../src/plugin.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

interface Note {
  name: string;
  text: string;
}

/** Uses every part of the port, and tells when each was called. */
function createNotesPlugin(calls: string[]): Plugin {
  return {
    settings: { title: "Notes", properties: {} },
    addCommands: () => undefined,
    loadDocs: () => Promise.resolve({ tag: "Notes", description: "Notes", operations: {} }),
    loadSourceKinds: () => Promise.resolve([]),
    async open({ registry, sources }) {
      calls.push("open");
      const notes = await registry.open<Note>({
        kind: "notes_note",
        noun: "note",
        format: 1,
        read: ({ data }) => JSON.parse(data) as Note,
        write: (note) => ({ data: JSON.stringify(note) }),
        keyOf: ({ name }) => ({ id: name }),
      });
      const list = () => [...notes.list()].map(({ thing }) => thing.text);
      return {
        sourceKinds: [{ name: "notes", needsSecret: false }],
        jobs: [
          {
            name: "count-notes",
            description: "Counts the notes",
            everyMs: 3_600_000,
            run: () => Promise.resolve({ summary: { notes: list().length } }),
          },
        ],
        addRoutes(app) {
          app.get("/api/v1/notes", { config: { scope: "admin" } }, () => Promise.resolve({ data: list() }));
          app.post<{ Body: Note }>("/api/v1/notes", { config: { scope: "admin" } }, async ({ body }, reply) => {
            await registry.change(notes, (draft) => void draft.put(notes, body));
            return reply.code(201).send(body);
          });
        },
        start: () => void calls.push(`start with ${sources().list(undefined).length} source`),
        close: () => void calls.push("close"),
      };
    },
  };
}

describe("a plugin", () => {
  let gateway: TestGateway | undefined;
  afterEach(() => gateway?.close());

  it("brings kinds, records, routes and jobs, and is opened, started and closed once", async () => {
    const calls: string[] = [];
    const yaml = "any_source: false\nsources: [{ name: desk, kind: notes }]";
    gateway = await startTestGateway({ yaml, plugins: [createNotesPlugin(calls)] });
    expect(calls).toEqual(["open", "start with 1 source"]);

    expect((await gateway.post("/webhook/desk", { said: "hello" })).status).toBe(200);
    expect((await gateway.post("/api/v1/notes", { name: "one", text: "remember" })).status).toBe(201);
    expect((await gateway.as(undefined).get("/api/v1/notes")).status).toBe(401);
    expect((await gateway.get("/api/v1/jobs")).json).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ name: "count-notes" })]) as unknown,
    });

    await gateway.restart();
    expect((await gateway.get("/api/v1/notes")).json).toEqual({ data: ["remember"] });
    await gateway.stop();
    expect(calls).toEqual(["open", "start with 1 source", "close", "open", "start with 1 source", "close"]);
  });

  it("leaves no trace of itself in a gateway without it", async () => {
    gateway = await startTestGateway();
    expect((await gateway.get("/api/v1/notes")).status).toBe(404);
  });

  it("is closed when a part that is made after it cannot be", async () => {
    const calls: string[] = [];
    const broken = { env: { TLS_CERT: "/nowhere.pem", TLS_KEY: "/nowhere.pem" } };
    await expect(startTestGateway({ ...broken, plugins: [createNotesPlugin(calls)] })).rejects.toThrow("nowhere");
    expect(calls).toEqual(["open", "close"]);
  });
});

/** Names that users write, in the tables that have all of their sort: nothing of it depends on the plugin. */
const PUBLIC_NAMES = ["model/errors.ts", "model/retry-policy.ts", "model/subscription.ts"];

describe("the name of a plugin", () => {
  const src = join(PROJECT_ROOT, "src");
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const folders = readdirSync(join(PROJECT_ROOT, "plugins"), { withFileTypes: true });

  it.each(folders.map(({ name }) => name))(
    "stands in its folder, in the list and in tables of public names: %s",
    (name) => {
      const naming = files.filter((file) => readFileSync(join(src, file), "utf8").toLowerCase().includes(name));
      expect(naming.filter((file) => !PUBLIC_NAMES.includes(file))).toEqual(["plugins.ts"]);
    },
  );
});
