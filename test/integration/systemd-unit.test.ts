import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, type TestContext } from "vitest";
import { findTool } from "../../scripts/test-tools.mjs";
import { runCommand } from "../support/run-command.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { skipWithoutService } from "../support/skip.ts";

const EXAMPLE = join(PROJECT_ROOT, "examples/n8n-proxy/config/posthorn.service");
const SHIPPED = join(PROJECT_ROOT, "deploy/systemd");
/** Of 100, as `systemd-analyze security` counts what an attacker could reach; the shipped unit has 13. */
const MAX_EXPOSURE = 20;

function needSystemd(context: TestContext): (...args: string[]) => ReturnType<typeof runCommand> {
  const tool = findTool("systemd-analyze");
  if (tool === undefined) return skipWithoutService(context, "systemd-analyze");
  return (...args) => runCommand(tool, args, PROJECT_ROOT);
}

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-unit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

it("the systemd unit of the example has nothing that systemd complains about", async (context) => {
  const analyze = needSystemd(context);
  expect(await analyze("verify", EXAMPLE)).toMatchObject({ exitCode: 0, stderr: "" });
  const wrong = join(openFolder(), "wrong.service");
  writeFileSync(wrong, readFileSync(EXAMPLE, "utf8").replace("Restart=", "Restrat="));
  expect((await analyze("verify", wrong)).stderr).toContain("Restrat");
});

it("the shipped units have nothing that systemd complains about, and leave little to an attacker", async (context) => {
  const analyze = needSystemd(context);
  const folder = openFolder();
  cpSync(SHIPPED, folder, { recursive: true });
  const service = join(folder, "posthorn.service");
  const socket = join(folder, "posthorn.socket");
  const secure = () => analyze("security", "--offline=true", `--threshold=${MAX_EXPOSURE}`, service);
  expect(await analyze("verify", service, socket)).toMatchObject({ exitCode: 0, stderr: "" });
  expect((await secure()).exitCode).toBe(0);

  // The control: a misspelt line, and a unit that may do what it likes.
  writeFileSync(socket, readFileSync(socket, "utf8").replace("ListenStream=", "ListenSteam="));
  expect((await analyze("verify", service, socket)).stderr).toContain("ListenSteam");
  writeFileSync(service, readFileSync(service, "utf8").replace(/^(Protect|Private|Restrict|SystemCall)\w+=.*$/gm, ""));
  expect((await secure()).exitCode).not.toBe(0);
});
