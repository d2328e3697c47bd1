import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { findTool } from "../../scripts/test-tools.mjs";
import { runCommand } from "../support/run-command.ts";
import { PROJECT_ROOT } from "../support/sample-checkout.ts";
import { skipWithoutService } from "../support/skip.ts";

const UNIT = join(PROJECT_ROOT, "examples/n8n-proxy/config/posthorn.service");

it("the systemd unit of the example has nothing that systemd complains about", async (context) => {
  const tool = findTool("systemd-analyze");
  if (tool === undefined) return skipWithoutService(context, "systemd-analyze");
  const folder = mkdtempSync(join(tmpdir(), "posthorn-unit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const verify = (file: string) => runCommand(tool, ["verify", file], folder);
  expect(await verify(UNIT)).toMatchObject({ exitCode: 0, stderr: "" });
  const wrong = join(folder, "wrong.service");
  writeFileSync(wrong, readFileSync(UNIT, "utf8").replace("Restart=", "Restrat="));
  expect((await verify(wrong)).stderr).toContain("Restrat");
});
