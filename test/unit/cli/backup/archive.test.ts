import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync, gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { pack, type Header } from "tar-stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createManifest, isPartName, parseManifest, type Manifest } from "../../../../src/cli/backup/manifest.ts";
import { describePart, type PartSource, readArchive, writeArchive } from "../../../../src/cli/backup/archive.ts";
import { runCommand } from "../../../support/run-command.ts";

const DATABASE = Buffer.from("a database of some length ".repeat(5000));
const YAML = Buffer.from("port: ${PORT:-8080}\n");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-archive-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function describeParts(parts: readonly PartSource[]): Promise<Manifest> {
  return createManifest({
    created_at: "2026-01-01T00:00:00.000Z",
    posthorn_version: "0.1.0",
    schema_version: 8,
    with_events: false,
    with_master_key: false,
    master_key_fingerprint: "0123456789abcdef",
    store_url: "sqlite:",
    variables: ["PORT"],
    needed_variables: [],
    defaulted_variables: ["PORT"],
    tables: { events: 0 },
    records: {},
    parts: await Promise.all(parts.map(describePart)),
  });
}

async function writeSample(): Promise<string> {
  const source = join(folder, "source.db");
  writeFileSync(source, DATABASE);
  const parts: PartSource[] = [
    { name: "posthorn.db", content: { file: source } },
    { name: "config/posthorn.yaml", content: YAML },
  ];
  const file = join(folder, "backup.tar.gz");
  const manifest = await describeParts(parts);
  const { signal } = new AbortController();
  await writeArchive({ file, manifest, parts, wallMs: 0, onProgress: () => undefined, signal });
  return file;
}

type TarFile = readonly [name: string, content: Buffer];

/** Any tar at all, with sound headers. */
async function packTar(files: readonly TarFile[], type: Header["type"] = "file"): Promise<Buffer> {
  const tar = pack();
  for (const [name, content] of files) tar.entry({ name, type }, type === "file" ? content : Buffer.alloc(0));
  tar.finalize();
  return gzipSync(await buffer(tar as AsyncIterable<unknown> as AsyncIterable<Buffer>));
}

function readInto(name: string, bytes?: Buffer): Promise<Manifest> {
  const file = join(folder, "given.tar.gz");
  if (bytes !== undefined) writeFileSync(file, bytes);
  const target = join(folder, name);
  mkdirSync(target);
  return readArchive({
    file: bytes === undefined ? name : file,
    folder: target,
    onManifest: () => undefined,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
}

const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");

describe("an archive", () => {
  it("gives back what was put in, byte by byte", async () => {
    const file = await writeSample();
    const manifest = await readInto("out", readFileSync(file));
    expect(readFileSync(join(folder, "out/posthorn.db")).equals(DATABASE)).toBe(true);
    expect(readFileSync(join(folder, "out/config/posthorn.yaml")).equals(YAML)).toBe(true);
    expect(manifest.parts.map(({ sha256 }) => sha256)).toEqual([sha256(DATABASE), sha256(YAML)]);
  });

  it("that 0.1.0 has written can be read", async () => {
    const { parts } = await readInto("saved", readFileSync(new URL("./written-by-0.1.0.tar.gz", import.meta.url)));
    const contents = parts.map(({ name }) => readFileSync(join(folder, "saved", name), "utf8"));
    expect(contents).toEqual(["a database of some length\n".repeat(40), "port: ${PORT:-8080}\n", "{}\n"]);
  });

  it("keeps names of up to 255 characters, of any script, and is not written with a longer one", async () => {
    const file = join(folder, "names.tar.gz");
    const write = async (name: string) => {
      const parts: PartSource[] = [
        { name: "posthorn.db", content: YAML },
        { name, content: YAML },
      ];
      const manifest = await describeParts(parts);
      const { signal } = new AbortController();
      await writeArchive({ file, manifest, parts, wallMs: 0, onProgress: () => undefined, signal });
    };
    const name = `config/${"größe/".repeat(39)}длина.json`;
    await write(name);
    await readInto("names", readFileSync(file));
    expect(readFileSync(join(folder, "names", name)).equals(YAML)).toBe(true);
    rmSync(file);
    await expect(write(`${"x".repeat(250)}/y.json`)).rejects.toThrow(/is too long for a backup/);
  });

  it("is not written when a part is not as long as was said", async () => {
    const parts: PartSource[] = [{ name: "posthorn.db", content: YAML }];
    const manifest = await describeParts([{ name: "posthorn.db", content: DATABASE }]);
    const file = join(folder, "changed.tar.gz");
    const { signal } = new AbortController();
    const written = writeArchive({ file, manifest, parts, wallMs: 0, onProgress: () => undefined, signal });
    await expect(written).rejects.toThrow(/posthorn.db changed while it was written/);
  });

  it("that could not be written is gone for good when it is removed", async () => {
    const parts: PartSource[] = [{ name: `${"x".repeat(250)}/y.json`, content: YAML }];
    const manifest = await describeParts(parts);
    const { signal } = new AbortController();
    const files = Array.from({ length: 50 }, (_, n) => join(folder, `${n}.tar.gz`));
    for (const file of files) {
      await writeArchive({ file, manifest, parts, wallMs: 0, onProgress: () => undefined, signal }).catch(
        () => undefined,
      );
      rmSync(file, { force: true });
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(files.filter((file) => existsSync(file))).toEqual([]);
  });

  it("can be read by tar", async () => {
    const { exitCode, stdout } = await runCommand("tar", ["tzf", await writeSample()], folder);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "manifest.json\nposthorn.db\nconfig/posthorn.yaml\n" });
  });

  it("is rejected wherever it is cut off", async () => {
    const whole = readFileSync(await writeSample());
    for (let share = 0; share < 10; share++) {
      const part = whole.subarray(0, Math.floor((whole.length * share) / 10));
      await expect(readInto(`cut-${share}`, part), `${share} tenths`).rejects.toThrow(/is cut off/);
    }
    await expect(readInto("cut-last", whole.subarray(0, -1))).rejects.toThrow(/is cut off/);
  });

  it("is rejected wherever it is cut off, also when it is packed anew", async () => {
    const tar = gunzipSync(readFileSync(await writeSample()));
    // What follows the last part is zeros.
    const lastPart = tar.indexOf(YAML) + YAML.length - 1;
    for (const at of [1, 511, 512, 513, 2048, 2560, 100_000, lastPart]) {
      const cut = readInto(`cut-tar-${at}`, gzipSync(tar.subarray(0, at)));
      await expect(cut, `byte ${at}`).rejects.toThrow(/is cut off|ends before its part/);
    }
  });

  it("is rejected with a byte of a part flipped, also when it is packed anew", async () => {
    const tar = gunzipSync(readFileSync(await writeSample()));
    for (const at of [20_000, 100_000, tar.indexOf(YAML)]) {
      const changed = Buffer.from(tar);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await expect(readInto(`flip-${at}`, gzipSync(changed)), `byte ${at}`).rejects.toThrow(/SHA-256/);
    }
  });

  it("is rejected with any packed byte flipped", async () => {
    const packed = readFileSync(await writeSample());
    for (let at = 10; at < packed.length - 8; at += Math.ceil(packed.length / 40)) {
      const changed = Buffer.from(packed);
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      await expect(readInto(`packed-${at}`, changed), `byte ${at}`).rejects.toThrow(/backup|damaged|SHA-256|cut off/);
    }
  });

  it("is rejected with a byte of a header flipped", async () => {
    const tar = gunzipSync(readFileSync(await writeSample()));
    const header = tar.indexOf("posthorn.db\0");
    // The end of the checksum's own field says nothing.
    const place = fc.nat(511).filter((at) => at < 148 || at >= 156);
    let run = 0;
    const flips = fc.asyncProperty(place, fc.integer({ min: 1, max: 255 }), async (at, by) => {
      const changed = Buffer.from(tar);
      changed[header + at] = ((changed[header + at] ?? 0) + by) % 256;
      await expect(readInto(`header-${run++}`, gzipSync(changed))).rejects.toThrow(/a header is damaged/);
    });
    await fc.assert(flips, { numRuns: 50 });
  });

  it("is rejected with a link or a folder in it, which could lead anywhere", async () => {
    for (const type of ["link", "symlink", "directory", "fifo"] as const) {
      const tar = await packTar([["manifest.json", YAML]], type);
      await expect(readInto(type, tar)).rejects.toThrow(/"manifest.json\/?" is not a plain file/);
    }
  });

  it("is rejected when something follows its end", async () => {
    const tar = gunzipSync(readFileSync(await writeSample()));
    await expect(readInto("zeros", gzipSync(Buffer.concat([tar, Buffer.alloc(8192)])))).resolves.toBeDefined();
    const more = Buffer.concat([tar, Buffer.alloc(8192, "x")]);
    await expect(readInto("more", gzipSync(more))).rejects.toThrow(/data after the end/);
  });

  it("is rejected when it is something else", async () => {
    await expect(readInto("text", Buffer.from("hello"))).rejects.toThrow(/not a backup/);
    await expect(readInto("packed text", gzipSync(Buffer.alloc(4096, "x")))).rejects.toThrow(/not a tar archive/);
    await expect(readInto("other tar", await packTar([["readme", YAML]]))).rejects.toThrow(
      /does not begin with manifest/,
    );
    await expect(readInto("missing")).rejects.toThrow(/cannot be read \(ENOENT\)/);
  });

  it("is rejected when it holds what its manifest does not name, or in its place", async () => {
    const manifest = await describeParts([{ name: "posthorn.db", content: YAML }]);
    const head = ["manifest.json", Buffer.from(JSON.stringify(manifest))] as const;
    const good = ["posthorn.db", YAML] as const;
    await expect(readInto("good", await packTar([head, good]))).resolves.toEqual(manifest);
    await expect(readInto("less", await packTar([head]))).rejects.toThrow(/ends before its part posthorn.db/);
    await expect(readInto("more", await packTar([head, good, ["config/x", YAML]]))).rejects.toThrow(
      /more files than its manifest/,
    );
    await expect(readInto("swapped", await packTar([head, ["../evil", YAML]]))).rejects.toThrow(
      /where its manifest lists/,
    );
    await expect(readInto("other size", await packTar([head, ["posthorn.db", DATABASE]]))).rejects.toThrow(
      /but the manifest says/,
    );
    const changed = Buffer.from(YAML);
    changed[0] = 0;
    await expect(readInto("changed", await packTar([head, ["posthorn.db", changed]]))).rejects.toThrow(/SHA-256/);
  });

  it("writes nothing outside of its folder, whatever its manifest says", async () => {
    for (const [index, name] of ["../evil", "config/../../evil", "/tmp/evil", "config//evil"].entries()) {
      const db: PartSource = { name: "posthorn.db", content: YAML };
      const manifest = await describeParts([db, { name, content: YAML }]);
      const tar = await packTar([
        ["manifest.json", Buffer.from(JSON.stringify(manifest))],
        ["posthorn.db", YAML],
        [name, YAML],
      ]);
      await expect(readInto(`evil-${index}`, tar), `part ${name}`).rejects.toThrow(/which does not belong in a backup/);
    }
    expect(existsSync(join(folder, "evil"))).toBe(false);
    expect(existsSync("/tmp/evil")).toBe(false);
  });
});

describe("a manifest", () => {
  it("of another version of the format is rejected, with both versions", async () => {
    const manifest = await describeParts([{ name: "posthorn.db", content: YAML }]);
    expect(() => parseManifest(JSON.stringify({ ...manifest, version: 2 }))).toThrow(/version 2.*reads version 1/);
    expect(() => parseManifest(JSON.stringify({ ...manifest, format: "else" }))).toThrow(/not a backup/);
    expect(() => parseManifest(JSON.stringify({ ...manifest, tables: { events: "many" } }))).toThrow(/damaged.*events/);
    expect(() => parseManifest("{")).toThrow(/not JSON/);
    expect(() => parseManifest(JSON.stringify({ ...manifest, with_master_key: true }))).toThrow(/disagree/);
    const [part] = manifest.parts;
    expect(() => parseManifest(JSON.stringify({ ...manifest, parts: [part, part] }))).toThrow(/twice/);
    expect(() => parseManifest(JSON.stringify({ ...manifest, parts: [{ ...part, name: "config/a.json" }] }))).toThrow(
      /no database/,
    );
  });

  it("knows which names a part may have", () => {
    const good = [
      "posthorn.db",
      "master.key",
      "config/posthorn.yaml",
      "config/a/b.json",
      "elsewhere/event_types_dir/a.json",
      "elsewhere/manifest/sheets",
    ];
    const bad = ["", "other", "manifest.json", "config/", "config/..", "config/a/../b", "config/./a", "/config/a"];
    const worse = ["config/a\\..\\b", "config/a\0b", "config/a\nb", `config/${"x".repeat(300)}`];
    const hidden = [
      "config/.bashrc",
      "config/.ssh/a.json",
      "config/a/.env.json",
      "config/.yaml",
      "elsewhere/manifest/.a",
    ];
    const unknown = ["config/start.sh", "config/authorized_keys", "elsewhere/a.json", "elsewhere/other/a.json"];
    const shown = ["config/a\u202eb.json", "config/a\u009bb.json", "config/a\u2028b.json"];
    expect([...hidden, ...unknown, ...shown].filter(isPartName)).toEqual([]);
    expect(good.filter((name) => !isPartName(name))).toEqual([]);
    expect([...bad, ...worse].filter(isPartName)).toEqual([]);
  });
});
