import { describe, expect, it } from "vitest";
import { BATCH } from "../../../../src/destinations/batch/settings.ts";
import { SENDERS } from "../../../../src/destinations/senders.ts";
import { createDestinationKinds, checkKindSettings } from "../../../../src/destinations/kinds.ts";
import { senderServices } from "../../../support/sender-services.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";

const KINDS = createDestinationKinds();
const URL_ONLY = { url: "https://ch.example/" };
const INSERT = { ...URL_ONLY, format: "clickhouse", table: "events" };

const problemsOf = (destination: Record<string, unknown>) =>
  checkKindSettings({ name: "a", kind: "batch", events: ["#"], destination }, KINDS).map(({ field }) => field);

describe("the settings of a batch", () => {
  it.each([
    [URL_ONLY],
    [INSERT],
    [{ ...INSERT, table: "analytics.events", settings: { async_insert: true, max_insert_threads: 2 } }],
    [{ path: "/srv/batches/orders.ndjson", rotate_s: 60 }],
    [{ ...URL_ONLY, gzip: true, headers: { "X-Api-Key": "k" }, auth: { type: "bearer", token: "t" } }],
  ])("are in order: %j", (settings) => {
    expect(problemsOf(settings)).toEqual([]);
  });

  it.each([
    [{}, "url"],
    [{ ...URL_ONLY, path: "/srv/a" }, "url"],
    [{ ...URL_ONLY, format: "parquet" }, "format"],
    [{ ...URL_ONLY, table: "events" }, "table"],
    [{ ...URL_ONLY, format: "clickhouse" }, "table"],
    [{ ...INSERT, table: "events`; DROP TABLE x" }, "table"],
    [{ ...INSERT, settings: { "a b": 1 } }, "settings"],
    [{ ...INSERT, settings: { query: "SELECT 1" } }, "settings.query"],
    [{ ...INSERT, settings: { wait_for_async_insert: 0 } }, "settings.wait_for_async_insert"],
    [{ ...URL_ONLY, rotate_s: 60 }, "rotate_s"],
    [{ ...URL_ONLY, headers: { "Idempotency-Key": "x" } }, "headers.Idempotency-Key"],
    [{ ...URL_ONLY, headers: { "Content-Encoding": "br" } }, "headers.Content-Encoding"],
    [{ ...URL_ONLY, auth: { type: "basic", username: "u" } }, "auth.password"],
    [{ ...URL_ONLY, max_rows: 0 }, "max_rows"],
    [{ path: "orders.ndjson" }, "path"],
    [{ path: "/srv/batches/../secrets" }, "path"],
    [{ path: "/srv/batches/" }, "path"],
    [{ path: "/srv/a", gzip: true }, "gzip"],
  ])("are not in order: %j", (settings, field) => {
    expect(problemsOf(settings)).toContain(`destination.${field}`);
  });

  it("are shown with what holds, by the way they send", () => {
    expect(BATCH.present(URL_ONLY)).toMatchObject({ format: "ndjson", rows: "event", max_rows: 500, linger_s: 1 });
    expect(BATCH.present(URL_ONLY)).not.toHaveProperty("rotate_s");
    expect(BATCH.present({ path: "/srv/a" })).not.toHaveProperty("headers");
  });

  it("are for operators where they lead to a file", () => {
    const names = BATCH.operatorOnly as readonly string[];
    expect([URL_ONLY, { path: "/srv/a" }].map((settings) => names.some((name) => name in settings))).toEqual([
      false,
      true,
    ]);
  });

  const findRefusal = async (batchDir: string | undefined, path: string): Promise<string | undefined> => {
    try {
      await SENDERS.batch(senderServices({ clock: createSystemClock(), batchDir })).rules?.check({ path });
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };

  it("lead into the folder for batches and nowhere else", async () => {
    expect(await findRefusal(undefined, "/srv/batches/a")).toMatch(/has no folder for batches.*POSTHORN_BATCH_DIR/);
    expect(await findRefusal("/srv/batches", "/srv/batches/a/b.ndjson")).toBeUndefined();
    for (const path of ["/srv/batches-of-others/a", "/etc/passwd", "/srv/batches"]) {
      expect(await findRefusal("/srv/batches", path)).toMatch(/is not inside \/srv\/batches/);
    }
  });
});
