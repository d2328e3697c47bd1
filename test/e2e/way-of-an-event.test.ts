import { createHmac } from "node:crypto";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { startCommand } from "../support/run-command.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { openSinkServer } from "../support/sink-server.ts";

const MAX_FILES = 40;
const MAX_CHANGES = 9;
const SECRET = "a-secret-of-github-0123456789";
const BODY = JSON.stringify({ action: "opened", number: 1 });
/**
 * The first one opens a connection and fills caches. What only one of the others passes was something else of the
 * gateway, such as its look every two seconds at what other processes have changed.
 */
const EVENTS = 4;

/** Who handed work on, and when; see `test/support/hand-overs.mjs`. */
interface HandOver {
  at: string;
  stack: string;
}

/** Where the files of src/ begin in the files of the build. */
type Marks = ReadonlyMap<string, readonly { line: number; file: string | undefined }[]>;

/** The list of ARCHITECTURE: the first block of the section. */
async function readNamed(): Promise<string[]> {
  const page = await readFile(join(PROJECT_ROOT, "ARCHITECTURE.md"), "utf8");
  const [, section = ""] = page.split("## The path of an event\n");
  const [, block = ""] = section.split("```");
  return [...block.matchAll(/[a-z0-9/-]+\.ts\b/g)].map(([file]) => file);
}

/** A copy of the build in which the package of the database is one that records. */
async function copyBuild(folder: string): Promise<Marks> {
  const isWanted = (path: string) => !path.endsWith(".map") && !path.includes(join("dist", "dashboard"));
  for (const part of ["dist", "bin", "package.json"]) {
    await cp(join(PROJECT_ROOT, part), join(folder, part), { recursive: true, filter: isWanted });
  }
  await symlink(join(PROJECT_ROOT, "node_modules"), join(folder, "node_modules"));
  const recorder = JSON.stringify(pathToFileURL(join(PROJECT_ROOT, "test/support/hand-overs.mjs")).href);
  const marks = new Map<string, { line: number; file: string | undefined }[]>();
  for (const name of await readdir(join(folder, "dist"), { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    const path = join(folder, "dist", name);
    const text = await readFile(path, "utf8");
    await writeFile(path, text.replaceAll('"@photostructure/sqlite"', recorder));
    const lines = text
      .split("\n")
      .map((one, at) => ({ line: at + 1, mark: /^\/\/ (\S+\.[cm]?[jt]s)$/.exec(one)?.[1] }));
    const begun = lines.filter(({ mark }) => mark !== undefined);
    marks.set(
      path,
      begun.map(({ line, mark = "" }) => ({ line, file: mark.startsWith("src/") ? mark.slice(4) : undefined })),
    );
  }
  return marks;
}

async function readHandOvers(folder: string): Promise<HandOver[]> {
  const text = await readFile(join(folder, "hand-overs"), "utf8").catch(() => "");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return whole.filter((line) => line !== "").map((line) => JSON.parse(line) as HandOver);
}

/** The files in the order of their first visits. Whatever a timer began is not the way of an event. */
function listFiles(handOvers: readonly HandOver[], marks: Marks): string[] {
  const inOrder = [...handOvers].sort((a, b) => (BigInt(a.at) < BigInt(b.at) ? -1 : 1));
  const files = inOrder
    .filter(({ stack }) => !stack.includes("listOnTimeout"))
    .flatMap(({ stack }) => {
      const frames = [...stack.matchAll(/file:\/\/(\/[^\s()]*\.js):(\d+):\d+/g)];
      return frames
        .map(([, path = "", line]) => marks.get(path)?.findLast((mark) => mark.line <= Number(line))?.file)
        .reverse();
    });
  return [...new Set(files.filter((file) => file !== undefined))];
}

/** Posts webhooks, one after the other; resolves to what was handed over for each. */
async function followEvents(folder: string, marks: Marks, last: string): Promise<HandOver[][]> {
  const sink = await openSinkServer();
  const sources = [{ name: "shop", kind: "github", secrets: [SECRET] }];
  const subscriptions = [{ name: "books", url: `${sink.url}/hook`, events: ["#"] }];
  await writeFile(join(folder, "posthorn.yaml"), JSON.stringify({ sources, subscriptions }));
  const gateway = startCommand(process.execPath, [join(folder, "bin/posthorn.js"), "start", "--port", "0"], folder, {
    WAY_FOLDER: folder,
    POSTHORN_ADMIN_KEY: "test-admin-key-0123456789",
    POSTHORN_ALERTS_ENABLED: "false",
    POSTHORN_ALLOW_PRIVATE_DESTINATIONS: "true",
    POSTHORN_ALLOW_HTTP_DESTINATIONS: "true",
    POSTHORN_BALLAST_BYTES: "0",
    POSTHORN_DISK_MIN_FREE_BYTES: "0",
    POSTHORN_MAX_LOOP_LAG_MS: "60000",
  });
  try {
    await gateway.printed("gateway is listening");
    const url = /"url":"([^"]+)"/.exec(gateway.output().stdout)?.[1] ?? "";
    const found: HandOver[][] = [];
    for (let number = 1; number <= EVENTS; number++) {
      await writeFile(join(folder, "on"), "");
      const headers = {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": `delivery-${number}`,
        "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(BODY).digest("hex")}`,
      };
      const answer = await fetch(`${url}/webhook/shop`, { method: "POST", body: BODY, headers });
      expect(answer.status).toBe(200);
      const isSettled = async () => listFiles(await readHandOvers(folder), marks).includes(last);
      await until(isSettled, 5000, `a visit of ${last}, the last file that ARCHITECTURE.md names,`);
      await rm(join(folder, "on"));
      found.push(await readHandOvers(folder));
      await rm(join(folder, "hand-overs"));
    }
    expect(sink.requests).toHaveLength(EVENTS);
    return found;
  } finally {
    gateway.child.kill("SIGTERM");
    await gateway.finished;
    await sink.close();
  }
}

/** The way that the events after the first have in common. */
function wayOf(events: readonly HandOver[][], marks: Marks): string[] {
  const [way = [], ...others] = events.slice(1).map((handOvers) => listFiles(handOvers, marks));
  return way.filter((file) => others.every((other) => other.includes(file)));
}

function roomOf(file: string): string {
  return file.split("/")[0] ?? file;
}

/** What is wrong with a way. */
function complainAbout(way: readonly string[], named: readonly string[]): string[] {
  const changes = way.filter((file, i) => i > 0 && roomOf(file) !== roomOf(way[i - 1] ?? "")).length;
  return [
    ...way.filter((file) => !named.includes(file)).map((file) => `${file} is not named`),
    ...named.filter((file) => !way.includes(file)).map((file) => `${file} is named, and no event passes it`),
    ...(way.length > MAX_FILES ? [`${way.length} files, more than ${MAX_FILES}`] : []),
    ...(changes > MAX_CHANGES ? [`${changes} changes of room, more than ${MAX_CHANGES}`] : []),
  ];
}

describe("the way of an event through src/", () => {
  let folder = "";
  let marks: Marks;
  let named: string[];
  let events: HandOver[][];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "posthorn-way-"));
    named = await readNamed();
    marks = await copyBuild(folder);
    events = await followEvents(folder, marks, named.at(-1) ?? "");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("passes the files that ARCHITECTURE.md names, in that order, and no others", () => {
    expect(complainAbout(wayOf(events, marks), named)).toEqual([]);
    expect(wayOf(events, marks)).toEqual(named);
  });

  it("is a test that can fail: a stage in a file of its own is noticed", () => {
    const moved = [...marks].map(
      ([path, begun]) =>
        [
          path,
          begun.map(({ line, file }) => ({ line, file: file === "accept/fan-out.ts" ? "accept/stage.ts" : file })),
        ] as const,
    );
    expect(complainAbout(wayOf(events, new Map(moved)), named)).toContain("accept/stage.ts is not named");
  });

  it("is a test that can fail: too many files and too many changes of room are noticed", () => {
    const way = Array.from({ length: MAX_FILES + 1 }, (_, i) => (i % 2 === 0 ? `accept/${i}.ts` : `deliver/${i}.ts`));
    expect(complainAbout(way, way)).toEqual(["41 files, more than 40", "40 changes of room, more than 9"]);
  });
});
