import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { readPromises, type ShownPromise } from "../../../scripts/promises.mjs";
import { PROOFS, TESTS, WITH_N8N, type Project } from "../../projects.mjs";

const SCRIPTS = (JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> }).scripts;
/** The commands that run folders of test/; any other one names its own files. */
const FOLDERS: Readonly<Record<string, readonly Project[]>> = {
  test: TESTS,
  proofs: PROOFS,
  "proofs:n8n": WITH_N8N,
};

/** Rows that measure: nothing of them can be broken. */
const MEASURED = /^time to the durable answer|^40 starts|^a newcomer/;
/** As tests name what breaks a promise on purpose, in their titles or in comments. */
const CONTROL = /can fail|\(control\)|\bcontrols?\b/i;

/** What is wrong with a row: nothing, if each of its commands runs one of its files, and each file is run. */
function findFaults({ commands, files }: ShownPromise): string[] {
  const missing = files.filter((file) => !existsSync(file)).map((file) => `${file} does not exist`);
  const idle = files.filter((file) => !commands.some((command) => runsFile(command, file)));
  const empty = commands.filter((command) => !files.some((file) => runsFile(command, file)));
  return [
    ...missing,
    ...idle.map((file) => `${file} is run by none of: ${commands.join(", ")}`),
    ...empty.map((command) => `npm run ${command} runs none of: ${files.join(", ")}`),
  ];
}

function runsFile(command: string, file: string): boolean {
  const projects = FOLDERS[command];
  if (projects !== undefined) {
    return file.endsWith(".test.ts") && projects.some(({ folder }) => file.startsWith(`test/${folder}/`));
  }
  return SCRIPTS[command]?.includes(file) ?? false;
}

const promises = readPromises();

describe("the promises of docs/explanation/reliability.md", () => {
  it("are as many as they were", () => expect(promises.length).toBeGreaterThanOrEqual(36));

  it.each(promises)("$what: each file that shows it is run by a command of the row", (promise) => {
    expect(promise.files).not.toEqual([]);
    expect(findFaults(promise)).toEqual([]);
  });

  it.each(promises.filter(({ what }) => !MEASURED.test(what)))("$what: one of its files has a control", ({ files }) => {
    expect(files.filter((file) => CONTROL.test(readFileSync(file, "utf8")))).not.toEqual([]);
  });

  it("is a test that can fail: a file that runs nowhere, and a command without a file, are found", () => {
    const row = "| R1 | power loss | `npm test`, `npm run bench` | `test/support/load.ts`, `test/unit/none.test.ts` |";
    expect(readPromises(row).flatMap(findFaults)).toEqual([
      "test/unit/none.test.ts does not exist",
      "test/support/load.ts is run by none of: test, bench",
      "npm run bench runs none of: test/support/load.ts, test/unit/none.test.ts",
    ]);
  });
});
