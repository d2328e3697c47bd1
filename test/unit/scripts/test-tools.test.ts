import { existsSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { QUICK } from "../../projects.mjs";
import { runCommand } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";
import { skipBecause } from "../../support/skip.ts";

const SCRIPTS = join(PROJECT_ROOT, "scripts");
/** Nothing is found but what a test puts into the folder; what is looked for by its place is named. */
const NAMED = { CHROMIUM: "/named", POSTHORN_TEST_AMQP_URL: "amqp://named", JSON_SCHEMA_TEST_SUITE: "/named" };

let folder: SampleCheckout;
beforeEach(async () => {
  folder = await openSampleFolder();
});
afterEach(() => folder.remove());

async function call(code: string, env: NodeJS.ProcessEnv = {}): Promise<{ exitCode: number | null; lines: string[] }> {
  const script = `import { runScript } from "${SCRIPTS}/run.mjs"; import * as tools from "${SCRIPTS}/test-tools.mjs";
    await runScript(() => ${code});`;
  const { exitCode, stdout, stderr } = await runCommand(
    process.execPath,
    ["--input-type=module", "-e", script],
    folder.root,
    { ...NAMED, PATH: folder.root, CI: "", POSTHORN_TEST_INSTALL: "0", ...env },
  );
  return { exitCode, lines: `${stdout}${stderr}`.split("\n").filter((line) => line !== "") };
}

async function writeCommand(name: string, script: string): Promise<void> {
  await folder.write(name, `#!/bin/sh\n${script}\n`);
  await chmod(join(folder.root, name), 0o755);
}

describe("the tools of the tests", () => {
  it("that are missing are named in one line, with the way to get them", async () => {
    await writeCommand("tmux", "exit 0");
    const { exitCode, lines } = await call("tools.provideTools({ languages: false })");
    expect({ exitCode, lines }).toEqual({
      exitCode: 0,
      lines: [
        "posthorn: tests that need curl, fish, strace, zsh, script, systemd-analyze are skipped; " +
          "to run them: apt-get install curl fish strace zsh bsdutils systemd, as root",
      ],
    });
  });

  it("are missing where a command that they need is", async () => {
    const look = () => call('console.log(tools.findTool("RabbitMQ") === undefined)', { POSTHORN_TEST_AMQP_URL: "" });
    expect((await look()).lines).toEqual(["true"]);
    await writeCommand("epmd", "exit 0");
    await writeCommand("erl", "exit 0");
    const isInstalled = existsSync("/usr/lib/rabbitmq/bin/rabbitmq-server");
    expect((await look()).lines).toEqual([String(!isInstalled)]);
  });

  it("that are missing are a failure at once where CI=true", async () => {
    const { exitCode, lines } = await call("tools.provideTools({ languages: true })", { CI: "true" });
    expect(exitCode).toBe(1);
    expect(lines).toEqual([
      expect.stringMatching(/^posthorn: missing here, where CI=true: curl, .*Ruby; install curl /),
    ]);
  });

  it("are installed by root in one step, with one line before and one after it", async (context) => {
    if (process.getuid?.() !== 0) skipBecause(context, "only root may install");
    // What it is told to install is there afterwards, except fish.
    await writeCommand(
      "apt-get",
      `for word in "$@"; do case $word in
        curl | strace | tmux | zsh) : > "${folder.root}/$word" ;;
        bsdutils) : > "${folder.root}/script" ;;
        systemd) : > "${folder.root}/systemd-analyze" ;;
      esac; done`,
    );
    const { exitCode, lines } = await call("tools.provideTools({ languages: false })", { POSTHORN_TEST_INSTALL: "" });
    expect({ exitCode, lines }).toEqual({
      exitCode: 0,
      lines: [
        "posthorn: installing curl fish strace tmux zsh bsdutils systemd …",
        expect.stringMatching(
          /^posthorn: installed for the tests, in \d+ s: curl strace tmux zsh bsdutils systemd \(POSTHORN_/,
        ),
        expect.stringMatching(/^posthorn: tests that need fish are skipped/),
      ],
    });
  });

  it("that cannot be installed are named as tried, and skipped like those of an ordinary user", async (context) => {
    if (process.getuid?.() !== 0) skipBecause(context, "only root may install");
    await writeCommand("apt-get", `echo "$*" >> "${folder.root}/asked"; exit 100`);
    const packages = "curl fish strace tmux zsh bsdutils systemd";
    const skipped = /^posthorn: tests that need curl, .* are skipped; to run them: apt-get install curl .*, as root$/;
    const tried = [
      `posthorn: installing ${packages} …`,
      `posthorn: installing ${packages} was tried and failed (apt-get update: exit code 100); ` +
        "is there a network? POSTHORN_TEST_INSTALL=0 keeps the tests from trying",
    ];
    const env = { POSTHORN_TEST_INSTALL: "" };
    const provide = "tools.provideTools({ languages: false })";
    expect(await call(provide, env)).toEqual({ exitCode: 0, lines: [...tried, expect.stringMatching(skipped)] });
    // Nothing is asked for one by one where even the lists cannot be had.
    expect((await folder.read("asked")).trim().split("\n")).toEqual([expect.stringMatching(/ update$/)]);

    expect(await call(provide, { ...env, CI: "true" })).toEqual({
      exitCode: 1,
      lines: [...tried, expect.stringMatching(/^posthorn: missing here, where CI=true: curl, .*; install curl /)],
    });
  });

  it("of which one cannot be installed: the others are, and the failure is said", async (context) => {
    if (process.getuid?.() !== 0) skipBecause(context, "only root may install");
    for (const name of ["strace", "tmux", "zsh", "script", "systemd-analyze"]) await writeCommand(name, "exit 0");
    await writeCommand(
      "apt-get",
      `for word in "$@"; do [ "$word" = fish ] && exit 100; done
      for word in "$@"; do [ "$word" = curl ] && : > "${folder.root}/curl"; done; exit 0`,
    );
    const { lines } = await call("tools.provideTools({ languages: false })", { POSTHORN_TEST_INSTALL: "" });
    expect(lines).toEqual([
      "posthorn: installing curl fish …",
      expect.stringMatching(/^posthorn: installed for the tests, in \d+ s: curl \(/),
      expect.stringMatching(/^posthorn: installing fish was tried and failed \(apt-get install: exit code 100\); /),
      expect.stringMatching(/^posthorn: tests that need fish are skipped/),
    ]);
  });

  it("for images and charts are wanted only by the proofs of them, each with the way to get it", async () => {
    const names = ["curl", "fish", "strace", "tmux", "zsh", "script", "systemd-analyze", "qemu-aarch64-static"];
    for (const name of [...names, "kubeconform"]) await writeCommand(name, "exit 0");
    const { lines } = await call("tools.provideTools({ languages: false, release: true })", {
      XDG_CACHE_HOME: folder.root,
    });
    const [line = "", ...others] = lines;
    expect(others).toEqual([]);
    expect(line).toContain("apt-get install buildah mmdebstrap");
    expect(line).toMatch(
      /; GOBIN=\S+ go install helm\.sh\/helm\/v3\/cmd\/helm@v3[\d.]+; unpack kubernetes-validate==\S+ of PyPI/,
    );
    expect(line).not.toContain("kubeconform");
  });

  it("that are all there are not spoken of", async () => {
    const names = ["curl", "fish", "strace", "tmux", "zsh", "script", "systemd-analyze"];
    for (const name of names) await writeCommand(name, "exit 0");
    expect(await call("tools.provideTools({ languages: false })")).toEqual({ exitCode: 0, lines: [] });
  });
});

describe("a disk with too little room for the tests", () => {
  it("ends the run with one line that says what to do", async () => {
    const { exitCode, lines } = await call("tools.checkDisks(process.cwd())", { TMPDIR: "/proc" });
    expect({ exitCode, lines }).toEqual({
      exitCode: 1,
      lines: ["posthorn: /proc has 0 MB free, and the tests need 2048 MB: make room, or set TMPDIR"],
    });
  });

  it("ends it where that of the checkout is it, by a limit of its own", async () => {
    const check = (needed: object) => call(`tools.checkDisks("/proc", ${JSON.stringify(needed)})`);
    expect(await check({ temporary: 0, checkout: 1024 ** 2 })).toEqual({
      exitCode: 1,
      lines: ["posthorn: /proc has 0 MB free, and the tests need 1 MB: make room"],
    });
    expect(await check({ temporary: 0, checkout: 0 })).toEqual({ exitCode: 0, lines: [] });
  });
});

describe("npm run test:quick", () => {
  it("has folders that are there, and leaves one out that is", () => {
    const folders = [...QUICK.folders, QUICK.without].filter((name) => !existsSync(join(PROJECT_ROOT, "test", name)));
    expect(folders).toEqual([]);
  });
});
