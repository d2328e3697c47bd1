import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withEnvFile } from "../../../src/config/environment.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "posthorn-env-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(text: string, name = ".env"): void {
  writeFileSync(join(folder, name), text);
}

describe("a file of variables", () => {
  it("is .env in the folder, and variables that are set win", () => {
    write("# of the shop\nPOSTHORN_PORT=9090\nexport TOKEN='a b' # quoted\nNOTE=\"two\nlines\"\n");
    expect(withEnvFile({ POSTHORN_PORT: "7070", HOME: "/root" }, folder, undefined)).toEqual({
      env: { POSTHORN_PORT: "7070", HOME: "/root", TOKEN: "a b", NOTE: "two\nlines" },
      file: ".env",
    });
  });

  it("may have another name", () => {
    write("A=1");
    write("B=2", "other.env");
    expect(withEnvFile({}, folder, "other.env")).toEqual({ env: { B: "2" }, file: "other.env" });
  });

  it("need not be there, unless it is named", () => {
    const env = { A: "1" };
    expect(withEnvFile(env, folder, undefined)).toEqual({ env, file: undefined });
    expect(() => withEnvFile(env, folder, "other.env")).toThrow(
      "The configuration is not valid: other.env: the file does not exist",
    );
  });

  it("is not looked for below systemd, which names its files itself", () => {
    write("A=1");
    expect(withEnvFile({ INVOCATION_ID: "1" }, folder, undefined)).toMatchObject({
      env: { INVOCATION_ID: "1" },
      file: undefined,
    });
    expect(withEnvFile({ INVOCATION_ID: "1" }, folder, ".env")).toMatchObject({ env: { INVOCATION_ID: "1", A: "1" } });
  });

  it("says where commands send the key only if it is named", () => {
    write("POSTHORN_URL=https://elsewhere.example");
    expect(withEnvFile({}, folder, undefined).env).toEqual({});
    expect(withEnvFile({}, folder, ".env").env).toEqual({ POSTHORN_URL: "https://elsewhere.example" });
  });

  it("that is not one is an error with its line", () => {
    write("A=1\nthis is no variable\nB=2\n");
    expect(() => withEnvFile({}, folder, undefined)).toThrow(".env:2: the line is not NAME=value");
    write("A=1\n1B=2\n");
    expect(() => withEnvFile({}, folder, undefined)).toThrow(".env:2: the line is not NAME=value");
    mkdirSync(join(folder, "folder.env"));
    expect(() => withEnvFile({}, folder, "folder.env")).toThrow("folder.env: the file cannot be read (EISDIR)");
  });
});
