import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCommandLine, type CommandLine } from "../support/cli.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const OWN_SECRET = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;

let cli: CommandLine;
let gateway: TestGateway;
let id: string;

beforeAll(async () => {
  gateway = await startTestGateway({
    yaml: 'subscriptions: [{ name: orders, url: "https://partner.example/hook", events: ["order.#"] }]',
  });
  cli = await openCommandLine(gateway);
  const { data } = (await gateway.get("/api/v1/subscriptions")).json as { data: { id: string }[] };
  id = data[0]?.id ?? "";
});

afterAll(async () => {
  await cli.remove();
  await gateway.close();
});

const secrets = (...args: string[]) => cli.run(["secrets", ...args]);

describe("posthorn secrets", () => {
  it("rotates, shows, confirms and retires, with the new secret alone on stdout", async () => {
    const before = await secrets("show", id);
    expect(before.stdout).toMatch(/^current {2}whsec_\S+ {2}\(made \S+( ago)?\)\n$/);
    const rotated = await secrets("rotate", id, "--overlap", "2h");
    expect(rotated.exitCode).toBe(0);
    expect(rotated.stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
    expect(rotated.stderr).toMatch(/both secrets sign until .* \(in [12]h\)/);
    const during = await secrets("show", id);
    expect(during.stdout).toMatch(/^current {2}whsec_\S+ .*ends in 1h\)\nnext {5}whsec_\S+ .*\)\n$/);
    expect(during.stdout).toContain(rotated.stdout.trim());
    const confirmed = await secrets("confirm", id);
    expect(confirmed.stdout).toMatch(/^current +made .*\nprevious +made .*, ends in 1h\n$/);
    expect(confirmed.stdout).not.toContain("whsec_");
    const retired = JSON.parse((await secrets("retire", id, "--json")).stdout) as { secrets: object[] };
    expect(retired).toMatchObject({ id, overlap_ends_at: null, secrets: [{ state: "current" }] });
  });

  it("takes a secret from a file, and says what cannot be done", async () => {
    await writeFile(join(cli.path, "own"), `${OWN_SECRET}\n`);
    const rotated = await secrets("rotate", id, "--secret-file", "own", "--overlap", "0");
    expect([rotated.stdout, rotated.exitCode]).toEqual([`${OWN_SECRET}\n`, 0]);
    expect(rotated.stderr).toContain("the old secret has ended");
    const nothing = await secrets("confirm", id, "--retire");
    expect([nothing.exitCode, nothing.stderr]).toEqual([1, expect.stringContaining("(conflict)")]);
    expect((await secrets("rotate", id, "--overlap", "soon")).exitCode).toBe(2);
    expect((await secrets("rotate", id, "--secret-file", "nowhere")).exitCode).toBe(1);
    expect((await secrets("rotate")).exitCode).toBe(2);
  });
});
