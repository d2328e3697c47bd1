import { DatabaseSync } from "@photostructure/sqlite";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type ShownEvent } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SHEET = "4509506114742148";
const SECRET = "3qo29mvjou6xt5fujukjtwzhj0";

let gateway: TestGateway;
let sink: SinkServer;
/** Takes everything that comes in. */
let archive: SinkServer;
beforeAll(async () => {
  [sink, archive] = await Promise.all([openSinkServer(), openSinkServer()]);
  const yaml = `
sources:
  - name: sheets
    kind: smartsheet
    tenant_id: acme
    secrets: [${SECRET}]
    manifest: { sheets: [{ id: "${SHEET}", name: Orders }] }
  - { name: open, kind: smartsheet, only: ["#"] }
  - { name: many, kind: smartsheet }
subscriptions:
  - { name: core, tenant_id: acme, url: "${sink.url}", events: ["smartsheet.row.*"], retry_policy: smartsheet, ordered: true }
  - { name: archive, tenant_id: acme, url: "${archive.url}", events: ["#"] }
  - { name: operators, tenant_id: acme, url: "${sink.url}/operators", events: [source.disabled] }
`;
  gateway = await startTestGateway({ yaml });
});
afterAll(() => Promise.all([gateway.close(), sink.close(), archive.close()]));

let number = 0;
const callback = (events: string, sheet = SHEET) =>
  `{"nonce":"n${number++}","timestamp":"2026-11-16T09:00:00.000+0000","webhookId":4503604829677444,"scope":"sheet",` +
  `"scopeObjectId":${sheet},${events}}`;
const row = (id: number | string, more = "") =>
  `{"objectType":"row","eventType":"updated","id":${id},"userId":9,"timestamp":"2026-11-16T09:00:00.000+0000"${more}}`;

function send(body: string, source = "sheets", secret = SECRET) {
  const hmac = createHmac("sha256", secret).update(body).digest("hex");
  return gateway.webhook(source, body, { "smartsheet-hmac-sha256": hmac });
}

function readEventLog(eventId: string): { status: string; event_type: string | null }[] {
  const db = new DatabaseSync(join(gateway.dataDir, "posthorn.db"), { readOnly: true });
  try {
    return db.prepare("select status, event_type from event_log where event_id = ? order by status").all(eventId);
  } finally {
    db.close();
  }
}

const eventsOf = async (source = "sheets") =>
  (await gateway.get(`/api/v1/events?source=${source}&limit=500`)).json["data"] as ShownEvent[];

describe("a Smartsheet source", () => {
  // shows: A10
  it("answers the challenge, and records nothing", async () => {
    const { status, headers, json } = await gateway.webhook("sheets", '{"challenge":"c-1","webhookId":1}', {
      "smartsheet-hook-challenge": "c-1",
    });
    expect([status, headers.get("smartsheet-hook-response"), json]).toEqual([
      200,
      "c-1",
      { smartsheetHookResponse: "c-1" },
    ]);
    const large = { "smartsheet-hook-challenge": "c-1" };
    expect((await gateway.webhook("sheets", " ".repeat(70_000), large)).status).toBe(413);
    expect(await eventsOf()).toEqual([]);
  });

  // shows: A8
  it("answers exactly 200, and delivers each change by itself", async () => {
    const body = callback(
      `"events":[${row(1)},${row("90071992547409931")},{"objectType":"cell","eventType":"updated","rowId":1,"columnId":2}]`,
    );
    const answer = await send(body);
    expect([answer.status, answer.json]).toEqual([200, { status: "queued", events: 2 }]);
    const taken = await sink.received(2);
    expect(taken.map((one) => JSON.parse(one.body.toString("utf8")) as object)).toMatchObject([
      { row_id: "1", sheet_id: SHEET, object_type: "row", action: "updated", change_agent: null },
      { row_id: "90071992547409931" },
    ]);
    expect(taken[0]?.headers["x-webhook-event"]).toBe("smartsheet.row.updated");
    const again = await send(body);
    expect([again.status, again.json["status"]]).toEqual([200, "duplicate"]);
    await gateway.settled();
    expect((await eventsOf()).map(({ status }) => status)).toEqual(["COMPLETED", "COMPLETED"]);
  });

  // shows: A4
  it("calls a change by one id, wherever it is seen", async () => {
    const from = sink.requests.length;
    const body = callback(`"events":[${row(301)},${row(302)}]`);
    await send(body);
    const taken = (await sink.received(from + 2)).slice(from);
    const ids = taken.map((one) => (JSON.parse(one.body.toString("utf8")) as { event_id: string }).event_id);
    await gateway.settled();
    for (const [index, id] of ids.entries()) {
      expect(id).toMatch(/^ss_[A-Za-z0-9_-]{43}$/);
      expect(taken[index]?.headers["webhook-id"]).toBe(id);
      expect(await gateway.event(id)).toMatchObject({ event_id: id, source: "sheets", status: "COMPLETED" });
      for (const query of [id, `${id.slice(0, 20)}*`]) {
        expect((await gateway.get(`/api/v1/events?id=${query}`)).json["data"]).toMatchObject([{ event_id: id }]);
      }
      expect(readEventLog(id)).toEqual([{ status: "COMPLETED", event_type: "smartsheet.row.updated" }]);
      const request = await gateway.get(`/api/v1/requests/req_${id}`);
      expect([request.status, request.json["events"]]).toMatchObject([200, [{ event_id: id, outcome: "accepted" }]]);
    }
    const other = gateway.as(await gateway.createKey(["read"], "other"));
    expect((await other.get(`/api/v1/events/${ids[0]}`)).status).toBe(404);
    await gateway.restart();
    expect(await gateway.event(ids[1] ?? "")).toMatchObject({ event_id: ids[1] });
  });

  // shows: A5
  it("marks every change of a callback that comes again, and takes what is new beside them", async () => {
    const events = [401, 402, 403].map((id) => row(id));
    const body = callback(`"events":[${events.join(",")}]`);
    await send(body);
    const ids = (await eventsOf()).slice(0, 3).map(({ event_id }) => event_id);
    for (let n = 0; n < 2; n++) expect((await send(body)).json["status"]).toBe("duplicate");
    const more = body.replace('"events":[', `"events":[${row(404)},`);
    expect((await send(more)).json).toEqual({ status: "queued", events: 1 });
    await until(() => readEventLog(ids[0] ?? "").length === 4);
    for (const id of ids) {
      expect(readEventLog(id).filter(({ status }) => status === "DUPLICATE")).toHaveLength(3);
    }
    const [newest] = (await gateway.get("/api/v1/sources/sheets/requests?limit=1")).json["data"] as {
      events: object;
    }[];
    const marked = ids.map(() => ({ outcome: "ignored", cause: "duplicate" }));
    expect(newest?.events).toMatchObject([{ outcome: "accepted", cause: null }, ...marked]);
  });

  it("marks them all, be they thousands", async () => {
    const rows = Array.from({ length: 3000 }, (_, n) => row(5_000_000 + n));
    const body = callback(`"events":[${rows.join(",")}]`);
    expect((await gateway.webhook("many", body)).json).toEqual({ status: "queued", events: 3000 });
    expect((await gateway.webhook("many", body)).json["status"]).toBe("duplicate");
    const countMarked = () => {
      const db = new DatabaseSync(join(gateway.dataDir, "posthorn.db"), { readOnly: true });
      try {
        const sql =
          "select count(distinct event_id) as n from event_log where source = 'many' and status = 'DUPLICATE'";
        return (db.prepare(sql).get() as { n: number }).n;
      } finally {
        db.close();
      }
    };
    await until(() => countMarked() === 3000);
    const [listed] = (await gateway.get("/api/v1/sources/many/requests?limit=1")).json["data"] as { id: string }[];
    expect(listed).toMatchObject({ cause: "duplicate", events: { length: 100 } });
    expect((await gateway.get(`/api/v1/requests/${listed?.id}`)).json["events"]).toHaveLength(3000);
  });

  it("takes two edits of a row in one second for two, when they come in two callbacks", async () => {
    const from = sink.requests.length;
    for (let n = 0; n < 2; n++) {
      expect((await send(callback(`"events":[${row(501)}]`))).json).toEqual({ status: "queued", events: 1 });
    }
    const ids = (await sink.received(from + 2)).slice(from).map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(2);
  });

  it("keeps a change that fits no schema under an id of the gateway's, and takes it once it fits", async () => {
    const type = "smartsheet.row.updated";
    const put = (schema: object) =>
      gateway.request("PUT", `/api/v1/event-types/${type}`, {
        body: JSON.stringify({ versions: [{ version: "1.0", schema }] }),
        headers: { "content-type": "application/json" },
      });
    const strict = await put({ type: "object", properties: { row_id: { const: "1" } } });
    expect(strict.status).toBeLessThan(300);
    const body = callback(`"events":[${row(601)}]`);
    expect((await send(body)).json).toEqual({ status: "ignored", cause: "invalid" });
    const [kept] = await eventsOf();
    expect(kept?.event_id).toMatch(/^evt_/);
    await gateway.request("DELETE", `/api/v1/event-types/${type}`);
    expect((await send(body)).json).toEqual({ status: "queued", events: 1 });
    expect((await eventsOf())[0]?.event_id).toMatch(/^ss_/);
  });

  // shows: A12
  it.each([
    ["a sheet that is not in the manifest", () => callback(`"events":[${row(1)}]`, "7"), "unknown_context"],
    [
      "nothing but cells",
      () => callback(`"events":[{"objectType":"cell","eventType":"updated","rowId":1,"columnId":2}]`),
      "filtered",
    ],
    ["no array", () => callback(`"events":{}`), "invalid"],
    ["no callback at all", () => `{"nonce":"${number++}"}`, "invalid"],
    ["an id that is none", () => callback(`"events":[${row('"x"')}]`), "invalid"],
    [
      "an unknown object type",
      () => callback(`"events":[{"objectType":"dream","eventType":"made","id":1}]`),
      "filtered",
    ],
    ["no events", () => callback(`"events":[]`), "no_events"],
  ])("answers 200 to %s, and keeps it with the cause", async (_, build, cause) => {
    const body = build();
    const { status, json } = await send(body);
    expect([status, json]).toEqual([200, { status: "ignored", cause }]);
    await until(async () => (await gateway.rejected("sheets"))[0]?.cause === cause);
    expect((await gateway.rejected("sheets"))[0]).toMatchObject({ outcome: "ignored" });
  });

  // shows: A11
  it("rejects what is not signed, or not JSON, in words", async () => {
    const body = callback(`"events":[${row(5)}]`);
    for (const answer of [await gateway.webhook("sheets", body), await send(body, "sheets", "wrong")]) {
      expect([answer.status, answer.json["code"]]).toEqual([401, "bad_signature"]);
    }
    const broken = await send("{broken");
    expect([broken.status, broken.json["code"]]).toEqual([400, "unreadable_body"]);
  });

  // shows: A9
  it("takes what is unsigned where there is no secret", async () => {
    const { status } = await gateway.webhook("open", callback(`"events":[${row(6)}]`));
    expect(status).toBe(200);
    expect(await eventsOf("open")).toHaveLength(1);
  });

  it("tells once that Smartsheet has disabled its webhook, and as nothing else", async () => {
    for (let n = 0; n < 2; n++) {
      const { status } = await send(callback('"newWebhookStatus":"DISABLED_SCOPE_INACCESSIBLE"'));
      expect(status).toBe(200);
    }
    const told = () => sink.requests.filter(({ path }) => path.endsWith("/operators"));
    await until(() => told().length > 0);
    await gateway.settled();
    expect(told()).toHaveLength(1);
    expect(JSON.parse(told()[0]?.body.toString("utf8") ?? "")).toMatchObject({
      event: "source.disabled",
      data: {
        source: "sheets",
        status: "disabled",
        reason: expect.stringContaining("cannot read the sheet") as string,
      },
    });
    // No change of a sheet: whoever takes everything does not get it, and the log says what came.
    const about = ({ body }: { body: Buffer }) => body.includes("DISABLED_SCOPE_INACCESSIBLE");
    expect(archive.requests.filter(about)).toEqual([]);
    expect(archive.requests.length).toBeGreaterThan(0);
    expect((await eventsOf()).filter((event) => String(event["event_type"]).includes("status"))).toEqual([]);
    const ignored = (await gateway.rejected("sheets")).filter(({ cause }) => cause === "webhook_status");
    expect(ignored).toHaveLength(2);
  });

  it("takes ten thousand changes in one callback, and others meanwhile", async () => {
    const rows = Array.from({ length: 10_000 }, (_, n) => row(1_000_000 + n));
    const body = callback(`"events":[${rows.join(",")}]`);
    expect(body.length).toBeLessThan(2_097_152);
    let meanwhile = 0;
    const sent = gateway.webhook("open", body);
    const others = until(async () => {
      meanwhile++;
      await gateway.get("/health");
      return meanwhile > 5;
    });
    const isFirst = await Promise.race([others.then(() => "others"), sent.then(() => "ten thousand")]);
    const { status, json } = await sent;
    expect([status, json]).toEqual([200, { status: "queued", events: 10_000 }]);
    expect(isFirst).toBe("others");
    await others;
  });

  it("is rejected with options or a manifest that it cannot have, and never reads a file for the API", async () => {
    const make = (settings: object) =>
      gateway.post("/api/v1/sources", { name: "new", kind: "smartsheet", ...settings });
    for (const [settings, field] of [
      [{ options: { ordering: "column" } }, "options"],
      [{ manifest: { sheets: [{ id: 1.5, name: "a" }] } }, "manifest"],
      [{ manifest: "/etc/passwd" }, "manifest"],
    ] as const) {
      const { status, json } = await make(settings);
      expect([status, String(json["detail"])]).toEqual([422, expect.stringContaining(field)]);
    }
  });
});
