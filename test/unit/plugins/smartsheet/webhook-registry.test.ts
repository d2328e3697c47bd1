import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openWebhookRegistry } from "../../../../plugins/smartsheet/webhook-registry.ts";
import { createRegistry } from "../../../../src/resources/registry.ts";
import { createSecretBox } from "../../../../src/resources/secret-box.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/open.ts";
import { NOON } from "../../../support/store-fixtures.ts";
import { useFolder } from "../../../support/store-folder.ts";

const DAY_MS = 86_400_000;
const [FIRST, SECOND] = ["first-secret-0123456789", "second-secret-0123456789"];
const WEBHOOK = { source: "sheets", webhookId: "1", sheetId: "7", status: "ENABLED" };
const folder = useFolder();

/** Two processes on one store, as far as they know. */
async function openTwo() {
  const clock = { at: NOON, wall: () => clock.at };
  const store = await openSqliteStore({
    file: join(folder.path, "posthorn.db"),
    dedupeHorizonMs: DAY_MS,
    thread: false,
    synchronous: "OFF",
    onFatal: (error) => {
      throw error;
    },
  });
  folder.onEnd(() => store.close());
  const secretBox = createSecretBox("a master key of at least 32 characters");
  const open = async () => {
    const registry = createRegistry({ records: store.records, clock });
    return { registry, webhooks: await openWebhookRegistry({ registry, secretBox, clock }) };
  };
  const recordsNow = async () => (await store.records.load(["smartsheet_webhook"])).records;
  return { clock, open, one: await open(), other: await open(), recordsNow };
}
type Side = Awaited<ReturnType<typeof openTwo>>["one"];
const secretsOf = ({ webhooks }: Side) => Object.fromEntries(webhooks.find("sheets")?.secrets ?? []);

describe("Smartsheet's webhooks", () => {
  it("are known to every reader that follows the store, with their secrets sealed there", async () => {
    const { one, other, open, recordsNow } = await openTwo();
    await one.webhooks.save({ ...WEBHOOK, secret: FIRST });
    expect([secretsOf(one), secretsOf(other)]).toEqual([{ 1: [FIRST] }, {}]);
    await other.registry.follow();
    expect([secretsOf(other), secretsOf(await open())]).toEqual([{ 1: [FIRST] }, { 1: [FIRST] }]);
    const [record] = await recordsNow();
    expect(record?.data).not.toContain(FIRST);
    expect(Buffer.from(record?.blob ?? []).includes(FIRST)).toBe(false);
    await other.webhooks.remove("sheets", "1");
    await one.registry.follow();
    expect([one.webhooks.find("sheets"), one.webhooks.list("sheets")]).toEqual([undefined, []]);
  });

  it("accept the secret before for a day more, in every process", async () => {
    const { clock, one, other } = await openTwo();
    await one.webhooks.save({ ...WEBHOOK, secret: FIRST });
    // It has not seen that one yet, and must not forget it.
    await other.webhooks.save({ ...WEBHOOK, secret: SECOND });
    expect(secretsOf(other)).toEqual({ 1: [SECOND, FIRST] });
    clock.at += DAY_MS;
    await other.webhooks.setStatus("sheets", "1", "DISABLED_BY_OWNER");
    expect(secretsOf(other)).toEqual({ 1: [SECOND] });
    expect(other.webhooks.list("sheets")).toMatchObject([{ ...WEBHOOK, status: "DISABLED_BY_OWNER" }]);
  });

  it("are written only when something of them changes", async () => {
    const { one, recordsNow } = await openTwo();
    await one.webhooks.save({ ...WEBHOOK, secret: FIRST });
    const before = await recordsNow();
    await one.webhooks.save({ ...WEBHOOK, secret: FIRST });
    await one.webhooks.setStatus("sheets", "1", "ENABLED");
    await one.webhooks.setStatus("sheets", "unknown", "ENABLED");
    await one.webhooks.remove("sheets", "unknown");
    expect(await recordsNow()).toEqual(before);
    await one.webhooks.setStatus("sheets", "1", "DISABLED_BY_OWNER");
    expect(await recordsNow()).not.toEqual(before);
  });
});
