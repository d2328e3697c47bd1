import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createApiClient, type ApiClient } from "../../support/api-client.ts";
import { ADMIN_KEY, startGatewayProcess, type GatewayProcess } from "../../support/gateway-process.ts";
import { runCommand } from "../../support/run-command.ts";
import { openSampleFolder, PROJECT_ROOT, type SampleCheckout } from "../../support/sample-checkout.ts";
import { startTestGateway } from "../../support/test-gateway.ts";

const CHANGED = "src/model/subscription.ts";
const BEFORE = "export const SharedSettings = Type.Object(\n  {\n";
const ENTRY = "test/support/gateway-entry.mjs";
const BUILD = 'import { build } from "./scripts/build.mjs"; await build(process.cwd());';
const TSC = join(PROJECT_ROOT, "node_modules/typescript/bin/tsc");
const BUILD_MS = 300_000;

let checkout: SampleCheckout;
let gateway: GatewayProcess;
let client: ApiClient;

const patch = (path: string, body: object) =>
  client.request("PATCH", path, { body: JSON.stringify(body), headers: { "content-type": "application/json" } });

const subscription = (name: string, more: object) => ({
  name,
  url: "https://erp.example.com/hooks",
  events: ["order.*"],
  ...more,
});

/** A copy of this project with the field of the example in the one file that it names, built as ever. */
beforeAll(async () => {
  const guide = await readFile(join(PROJECT_ROOT, "docs/extend/subscription-field.md"), "utf8");
  const [, field = ""] =
    new RegExp(`among \`SharedSettings\` of \`${CHANGED}\`:\n+\`\`\`ts\n([^]*?)\`\`\``).exec(guide) ?? [];
  checkout = await openSampleFolder();
  const { root } = checkout;
  await mkdir(join(root, "test/support"), { recursive: true });
  const parts = ["src", "sdk", "plugins", "scripts", "package.json", "package-lock.json", "tsconfig.json"];
  for (const part of [...parts, ENTRY, "test/support/broken-promises.mjs"]) {
    await cp(join(PROJECT_ROOT, part), join(root, part), { recursive: true });
  }
  await symlink(join(PROJECT_ROOT, "node_modules"), join(root, "node_modules"));
  const source = await checkout.read(CHANGED);
  if (!field.includes("contact:") || !source.includes(BEFORE))
    throw new Error("the example has no field, or there is no place for it");
  await checkout.write(CHANGED, source.replace(BEFORE, BEFORE + field));
  await checkout.write("tsconfig.src.json", JSON.stringify({ extends: "./tsconfig.json", include: ["src"] }));
  for (const args of [
    [TSC, "-p", "tsconfig.src.json"],
    ["--input-type=module", "--eval", BUILD],
  ]) {
    const built = await runCommand(process.execPath, args, root);
    if (built.exitCode !== 0) throw new Error(`with the field it does not build: ${built.stdout}${built.stderr}`);
  }
  const declared = { subscriptions: [subscription("declared", { contact: "Ada" })] };
  await checkout.write("gateway/posthorn.yaml", JSON.stringify(declared));
  gateway = startGatewayProcess({ folder: join(root, "gateway"), entry: join(root, ENTRY) });
  const url = await gateway.ready;
  client = createApiClient({ url: () => url }, ADMIN_KEY);
}, BUILD_MS);

afterAll(async () => {
  await gateway.kill("SIGTERM");
  await checkout.remove();
});

describe("a field that is added to a subscription as docs/extend says", () => {
  it("is taken, checked, changed and shown", async () => {
    const made = await client.post("/api/v1/subscriptions", subscription("made", { contact: "Grace" }));
    expect([made.status, made.json["contact"]]).toEqual([201, "Grace"]);
    const path = `/api/v1/subscriptions/${String(made.json["id"])}`;
    expect((await patch(path, { contact: "Barbara" })).json["contact"]).toBe("Barbara");
    expect((await client.get(path)).json["contact"]).toBe("Barbara");
    expect((await patch(path, { contact: "" })).json).toMatchObject({ status: 422, field: "contact" });
    const without = await client.post("/api/v1/subscriptions", subscription("without", {}));
    expect(without.json["contact"]).toBeNull();
  });

  it("may be declared in posthorn.yaml", async () => {
    const { json } = await client.get("/api/v1/subscriptions");
    const shown = (json["data"] as { name: string }[]).find(({ name }) => name === "declared");
    expect(shown).toMatchObject({ managed_by: "config", contact: "Ada" });
  });

  it("stands in the reference, with its text and example", async () => {
    const { json } = await client.get("/openapi.json");
    const { components, paths } = json as unknown as Reference;
    const said = { description: "Who to call when its destination is down", examples: ["+49 30 901820"] };
    for (const name of ["SubscriptionInput", "SubscriptionChange", "Subscription"]) {
      expect(components.schemas[name]?.properties["contact"]).toMatchObject(said);
    }
    expect(components.schemas["Subscription"]?.required).toContain("contact");
    const answer = paths["/api/v1/subscriptions/{id}"]?.get.responses["200"].content["application/json"];
    expect(answer?.example["contact"]).toBe("+49 30 901820");
  });

  it("is rejected by a gateway without it", async () => {
    const plain = await startTestGateway();
    try {
      const { json } = await plain.post("/api/v1/subscriptions", subscription("made", { contact: "Grace" }));
      expect(json).toMatchObject({ status: 422, detail: "contact is not a known field." });
    } finally {
      await plain.close();
    }
  });
});

interface Reference {
  components: { schemas: Record<string, { properties: Record<string, object>; required: string[] }> };
  paths: Record<
    string,
    { get: { responses: { "200": { content: { "application/json": { example: Record<string, unknown> } } } } } }
  >;
}
