import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";

let sample: SampleCheckout;
beforeAll(async () => {
  sample = await openSampleFolder();
});
afterAll(() => sample.remove());

const check = (root: string) => runCommand(process.execPath, ["scripts/check-words.mjs", root], PROJECT_ROOT);

describe("the words of code, titles and pages", () => {
  it("are none of those on the list", async () => {
    const stdout: unknown = expect.stringMatching(/\d\d pages, \d{3,} files of code, \d{3,} of tests read/);
    expect(await check(PROJECT_ROOT)).toMatchObject({ exitCode: 0, stdout });
  });

  it("are a check that can fail: a name, a message, a comment, a title, a phrase of a page", async () => {
    await sample.write(
      "sdk/src/limits.ts",
      "\nfunction refuseTooMany() {}\n/** Whoever asks. */\nconst t = `a wish`;\n",
    );
    await sample.write("test/unit/limits.test.ts", 'it.each([1, 2])("is judged", () => refuse());\n');
    await sample.write("docs/limits.md", "It waits.\nA pointer that is none is refused.\n");
    const { exitCode, stdout } = await check(sample.root);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('sdk/src/limits.ts:2: "refuse"; write: reject, rejection');
    expect(stdout).toContain('sdk/src/limits.ts:3: "Whoever"');
    expect(stdout).toContain('sdk/src/limits.ts:4: "wish"');
    expect(stdout).toContain('test/unit/limits.test.ts:1: "judged"');
    expect(stdout).not.toContain('limits.test.ts:1: "refuse"');
    expect(stdout).toContain('docs/limits.md:2: "that is none"');
  });

  it("may be names of the API, and usual words that look alike", async () => {
    await sample.write(
      "sdk/src/usual.ts",
      'const a = ["refused", refuse_replays, "Connection refused", takenInto, notes];\n',
    );
    await sample.write("sdk/src/beside.ts", 'const a = ["is refused", refuse_all];\n');
    const { stdout } = await check(sample.root);
    expect(stdout).not.toContain("usual.ts");
    expect(stdout.match(/beside\.ts/g)).toHaveLength(2);
  });
});
