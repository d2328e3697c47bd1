import { describe, expect, it } from "vitest";
import { useCommandLine } from "../support/cli.ts";

const used = useCommandLine();

async function json(args: readonly string[]): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await used.cli.run([...args, "--json"]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe("posthorn tenants", () => {
  it("makes, shows, lists and deletes them", async () => {
    const flags = ["--name", "Acme Ltd", "--email", "ops@acme.test", "--max-subscriptions", "3"];
    const made = await used.cli.run(["tenants", "create", "acme", ...flags, "--max-stored-bytes", "2048"]);
    expect(made.exitCode).toBe(0);
    expect(made.stdout).toMatch(/^name +Acme Ltd$/m);
    expect(made.stdout).toMatch(/^subscriptions +0 of 3$/m);
    expect(made.stdout).toMatch(/^stored +0 B of 2\.0 KiB$/m);
    expect(await json(["tenants", "show", "acme"])).toMatchObject({
      contact_email: "ops@acme.test",
      quotas: { subscriptions: 3, events_per_minute: null, open_deliveries: null, stored_bytes: 2048 },
    });
    expect(made.stdout).toMatch(/^created +\S+Z \(.*\)$/m);
    const listed = await used.cli.run(["tenants"]);
    expect(listed.stdout).toMatch(/^TENANT .*\nacme .*\ndefault /);
    expect(await json(["tenants", "list", "--limit", "1"])).toMatchObject({ next_cursor: "acme" });

    const again = await used.cli.run(["tenants", "create", "acme"]);
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("(conflict)")]);
    expect((await used.cli.run(["tenants", "delete", "acme"])).stdout).toBe("acme: deleted\n");
    const gone = await used.cli.run(["tenants", "show", "acme"]);
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringMatching(/^posthorn: .*\(not_found\)/)]);
    expect((await used.cli.run(["tenants", "delete", "default"])).exitCode).toBe(1);
  });
});

describe("posthorn keys", () => {
  it("makes one by the gateway, prints it alone on stdout, lists and revokes it", async () => {
    const args = ["keys", "create", "--name", "shop", "--scope", "publish", "--scope", "read", "--tenant", "shop"];
    expect((await used.cli.run(["tenants", "create", "shop"])).exitCode).toBe(0);
    const made = await used.cli.run([...args, "--expires", "30d"]);
    expect(made.stdout).toMatch(/^phk_[\w-]{43}\n$/);
    const [, id = ""] = /(key_\w+) "shop" allows publish, read in the tenant shop/.exec(made.stderr) ?? [];
    const key = made.stdout.trim();
    const env = { POSTHORN_API_KEY: key };
    expect((await used.cli.run(["send", "a.b"], env)).exitCode).toBe(0);
    expect((await used.cli.run(["keys", "list"], env)).exitCode).toBe(1);

    const list = await used.cli.run(["keys", "list", "--tenant", "shop"]);
    expect(list.stdout).toMatch(
      new RegExp(`^${id} +${key.slice(0, 8)} +shop +publish, read +shop +active .*in 29d$`, "m"),
    );
    expect(list.stdout).not.toContain(key);
    expect((await used.cli.run(["keys", "revoke", id])).stdout).toBe(`${id}: revoked\n`);
    const refused = await used.cli.run(["send", "a.b"], env);
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("(unauthorized)")]);
    expect(await json(["keys", "revoke", id])).toMatchObject({ id, status: "revoked" });
  });

  it("keeps the last admin key, and says why", async () => {
    await used.gateway.restart({ env: { ADMIN_KEY: "" } });
    const { data } = (await json(["keys", "list"])) as { data: { id: string; name: string }[] };
    const first = data.find(({ name }) => name === "first admin key");
    const { exitCode, stderr } = await used.cli.run(["keys", "revoke", first?.id ?? ""]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("last admin key")]);
  });
});
