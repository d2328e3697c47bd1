import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { runCommand } from "../../support/run-command.ts";
import { PROJECT_ROOT } from "../../support/sample-checkout.ts";

const ADVISORY = {
  id: 1,
  url: "https://example.org/advisories/1",
  title: "Denial of service",
  severity: "high",
  vulnerable_versions: "*",
};

/** Runs the check with a registry on loopback; resolves to how it ended, and the packages that it asked for. */
async function check(answer: (response: ServerResponse) => void, timeoutMs = 30_000) {
  const asked: string[] = [];
  const registry = createServer((request, response) => {
    if (request.method === "GET") return void response.end(JSON.stringify(toPackument(request)));
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts);
      const json = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      asked.push(...Object.keys(JSON.parse(json.toString()) as object));
      answer(response);
    });
  });
  await new Promise<void>((resolve) => void registry.listen(0, "127.0.0.1", resolve));
  const cache = mkdtempSync(join(tmpdir(), "posthorn-npm-"));
  onTestFinished(() => {
    registry.closeAllConnections();
    registry.close();
    rmSync(cache, { recursive: true, force: true });
  });
  const { port } = registry.address() as AddressInfo;
  const args = [join(PROJECT_ROOT, "scripts/check-advisories.mjs"), String(timeoutMs)];
  const env = { npm_config_registry: `http://127.0.0.1:${port}`, npm_config_cache: cache };
  const { exitCode, stdout } = await runCommand(process.execPath, args, PROJECT_ROOT, env);
  return { exitCode, stdout, asked };
}

function toPackument({ url = "/" }: IncomingMessage) {
  const name = decodeURIComponent(url.slice(1));
  return { name, "dist-tags": {}, versions: {} };
}

const answerWith = (report: object) => (response: ServerResponse) => void response.end(JSON.stringify(report));

it("fails on a known advisory of a package that is shipped, and names it", async () => {
  const { exitCode, stdout, asked } = await check(answerWith({ fastify: [ADVISORY] }));
  expect(stdout).toContain("fastify: high, Denial of service (https://example.org/advisories/1)");
  expect(exitCode).toBe(1);
  expect(asked).toContain("fastify");
  // Nobody who runs a gateway has the packages of its tests.
  expect(asked).not.toContain("azurite");
});

it("passes without one", async () => {
  expect(await check(answerWith({}))).toMatchObject({ exitCode: 0, stdout: "" });
});

it("is skipped with one line where the registry has no advisories, or does not answer in time", async () => {
  const refusing = await check((response) => response.writeHead(405).end());
  expect(refusing).toMatchObject({
    exitCode: 77,
    stdout: "advisories are not checked: npm's registry does not answer audit requests (405)\n",
  });
  const silent = await check(() => undefined, 3000);
  expect(silent.exitCode).toBe(77);
  expect(silent.stdout).toMatch(/^advisories are not checked: npm's registry did?(oes)? not answer .*\n$/);
});
