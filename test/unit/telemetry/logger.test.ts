import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { skipBecause } from "../../support/skip.ts";
import { createLogger, type Logger, type LoggerOptions } from "../../../src/telemetry/logger.ts";

let dir: string;
let output: string[];
let loggers: Logger[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "posthorn-log-"));
  output = [];
  loggers = [];
});
afterEach(() => {
  for (const logger of loggers) logger.close();
  rmSync(dir, { recursive: true, force: true });
});

function open(options: Partial<LoggerOptions> = {}): Logger {
  const stdout = { write: (text: string) => output.push(text) };
  const logger = createLogger({ level: "info", maxBytes: 1_000_000, keep: 2, pretty: false, stdout, ...options });
  loggers.push(logger);
  return logger;
}

const parse = (line: string | undefined) => JSON.parse(line ?? "null") as Record<string, unknown>;

describe("a log line", () => {
  it("is JSON with time, level by name, fields and message", () => {
    open().child({ part: "http" }).info({ url: "http://127.0.0.1:8080" }, "gateway listening");
    const { time, ...rest } = parse(output[0]);
    expect(rest).toEqual({ level: "info", part: "http", url: "http://127.0.0.1:8080", msg: "gateway listening" });
    expect(String(time)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(output[0]).toMatch(/\}\n$/);
  });

  it("is left out below the level", () => {
    const logger = open({ level: "warn" });
    logger.info("quiet");
    logger.child({ part: "x" }).warn("loud");
    expect(output).toHaveLength(1);
    expect(logger.isLevelEnabled("info")).toBe(false);
  });

  it("is one short line on a terminal", () => {
    const logger = open({ pretty: true });
    logger.info({ url: "http://a.example", note: "two words", count: 3 }, "gateway listening");
    expect(output[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}gateway listening {2}url=http:\/\/a\.example {2}note="two words" {2}count=3\n$/,
    );
    logger.error({ error: new Error("it broke") }, "attempt failed");
    expect(output[1]).toMatch(/ ERROR attempt failed {2}error="it broke" {2}\n {4}at /);
  });

  it("cannot be forged or made to move the cursor by what a sender wrote", () => {
    open({ pretty: true }).warn({ topic: "a\n12:00:00.000 INFO fake\u001b[2J\u009b1m\u202e" }, "odd\r\nmessage");
    const control = /[\p{Cc}\p{Cf}]/u;
    expect(control.test((output[0] ?? "").slice(0, -1))).toBe(false);
  });

  it("tells type, message, code, stack and cause of an error, and nothing else it carries", () => {
    const error = Object.assign(new Error("outer", { cause: new TypeError("inner") }), { code: "E_X", body: "canary" });
    open().error({ error }, "failed");
    expect(parse(output[0])["error"]).toMatchObject({
      type: "Error",
      message: "outer",
      code: "E_X",
      cause: { type: "TypeError", message: "inner" },
    });
    expect(output[0]).not.toContain("canary");
  });
});

describe("secrets", () => {
  const secrets = {
    authorization: "canary",
    "x-api-key": "canary",
    secret: "canary",
    adminKey: "canary",
    secrets: ["canary"],
  };

  it.each([
    ["at the top", secrets],
    ["deep inside", { a: { b: [{ c: { headers: { Authorization: "canary", Cookie: "canary" } } }] } }],
    ["in bytes", { body: Buffer.from("canary") }],
    ["in a URL", { url: "https://me:canary@a.example/" }],
    ["in text", { note: "sent Bearer canary12345 to it, with whsec_canary and whsk_canary" }],
    ["in an error", { error: new Error("bad secret whsec_canary12345") }],
  ])("are masked %s", (_, fields) => {
    const logger = open();
    logger.info(fields, "request refused");
    logger.child(fields).info("request refused");
    expect(output).toHaveLength(2);
    expect(output.join("")).not.toMatch(/canary|99,97,110/);
    for (const line of output) expect(parse(line)["msg"]).toBe("request refused");
  });

  it("are not seen where there are none", () => {
    open().info({ event_type: "secret.created", tokens: 3, url: "https://a.example/x?mail=a@b" }, "token spent");
    expect(output[0]).not.toContain("***");
  });
});

describe("the log file", () => {
  const lineOf = (text: string) => text.split("\n").filter((line) => line !== "");

  it("gets JSON also when the terminal gets text, and is flushed by fatal at once", () => {
    const file = join(dir, "logs", "posthorn.log");
    open({ file, pretty: true }).fatal("stopping");
    expect(parse(readFileSync(file, "utf8"))["msg"]).toBe("stopping");
    expect(statSync(file).mode & 0o007).toBe(0);
  });

  it("is rotated by size, keeps the newest files and loses no line between them", () => {
    const file = join(dir, "posthorn.log");
    const logger = open({ file, maxBytes: 1000, keep: 2 });
    for (let number = 0; number < 60; number++) {
      logger.info({ number }, "line");
      logger.flush();
    }
    expect(readdirSync(dir).sort()).toEqual(["posthorn.log", "posthorn.log.1", "posthorn.log.2"]);
    const files = ["posthorn.log.2", "posthorn.log.1", "posthorn.log"].map((name) =>
      readFileSync(join(dir, name), "utf8"),
    );
    for (const text of files) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1000);
    const numbers = files.flatMap(lineOf).map((line) => Number(parse(line)["number"]));
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => 60 - numbers.length + index));
  });

  it("is begun anew when no old files are kept, and goes on where a former process stopped", () => {
    const file = join(dir, "posthorn.log");
    writeFileSync(file, `${"x".repeat(950)}\n`);
    const logger = open({ file, maxBytes: 1000, keep: 0 });
    logger.info("after");
    logger.flush();
    expect(readdirSync(dir)).toEqual(["posthorn.log"]);
    expect(lineOf(readFileSync(file, "utf8"))).toHaveLength(1);
  });

  it("costs only its lines while it cannot be written, says so once, and tells how many were lost", () => {
    const file = join(dir, "posthorn.log");
    mkdirSync(file);
    const logger = open({ file });
    for (let number = 0; number < 3; number++) {
      logger.info({ number }, "line");
      logger.flush();
    }
    const troubles = output.filter((line) => line.includes("the log file cannot be written"));
    expect(troubles).toHaveLength(1);
    expect(parse(troubles[0])).toMatchObject({ level: "warn", part: "log", error_code: "EISDIR" });

    rmSync(file, { recursive: true });
    logger.info({ number: 3 }, "line");
    logger.flush();
    const lines = lineOf(readFileSync(file, "utf8")).map(parse);
    expect(lines).toMatchObject([{ msg: "log lines were lost", lines: 3 }, { number: 3 }]);
  });

  it("goes on in the same file when rotating is not possible", () => {
    const file = join(dir, "posthorn.log");
    mkdirSync(join(dir, "posthorn.log.1", "in-the-way"), { recursive: true });
    const logger = open({ file, maxBytes: 300, keep: 1 });
    for (let number = 0; number < 20; number++) {
      logger.info({ number }, "line");
      logger.flush();
    }
    expect(lineOf(readFileSync(file, "utf8"))).toHaveLength(20);
  });

  it("survives a full disk", (context) => {
    if (process.platform !== "linux") skipBecause(context, "only Linux has /dev/full");
    const logger = open({ file: "/dev/full" });
    logger.error("line");
    logger.flush();
    logger.fatal("last line");
    expect(output.map((line) => parse(line)["msg"])).toEqual(["line", "the log file cannot be written", "last line"]);
    expect(parse(output[1])["error_code"]).toBe("ENOSPC");
  });

  it("can be closed while lines wait, and later lines still reach stdout", () => {
    const file = join(dir, "posthorn.log");
    const logger = open({ file });
    logger.info("before");
    logger.close();
    logger.info("after");
    expect(lineOf(readFileSync(file, "utf8")).map((line) => parse(line)["msg"])).toEqual(["before"]);
    expect(output).toHaveLength(2);
  });
});
