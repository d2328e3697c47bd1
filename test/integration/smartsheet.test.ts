import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until, type ShownEvent } from "../support/api-client.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

const SHEET = "4509506114742148";
const SECRET = "3qo29mvjou6xt5fujukjtwzhj0";

let gateway: TestGateway;
let sink: SinkServer;
beforeAll(async () => {
  sink = await openSinkServer();
  const yaml = `
sources:
  - name: sheets
    kind: smartsheet
    tenant_id: acme
    secrets: [${SECRET}]
    manifest: { sheets: [{ id: "${SHEET}", name: Orders }] }
  - { name: open, kind: smartsheet, only: ["#"] }
subscriptions:
  - { name: core, tenant_id: acme, url: "${sink.url}", events: ["smartsheet.row.*"], retry_policy: smartsheet, ordered: true }
  - { name: operators, tenant_id: acme, url: "${sink.url}/operators", events: [source.disabled] }
`;
  gateway = await startTestGateway({ yaml });
});
afterAll(() => Promise.all([gateway.close(), sink.close()]));

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

const eventsOf = async (source = "sheets") =>
  (await gateway.get(`/api/v1/events?source=${source}&limit=500`)).json["data"] as ShownEvent[];

describe("a Smartsheet source", () => {
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
    await until(async () => (await gateway.refused("sheets"))[0]?.cause === cause);
    expect((await gateway.refused("sheets"))[0]).toMatchObject({ outcome: "ignored" });
  });

  it("refuses what is not signed, or not JSON, in words", async () => {
    const body = callback(`"events":[${row(5)}]`);
    for (const answer of [await gateway.webhook("sheets", body), await send(body, "sheets", "wrong")]) {
      expect([answer.status, answer.json["code"]]).toEqual([401, "bad_signature"]);
    }
    const broken = await send("{broken");
    expect([broken.status, broken.json["code"]]).toEqual([400, "unreadable_body"]);
  });

  it("takes what is unsigned where there is no secret", async () => {
    const { status } = await gateway.webhook("open", callback(`"events":[${row(6)}]`));
    expect(status).toBe(200);
    expect(await eventsOf("open")).toHaveLength(1);
  });

  it("records what Smartsheet says of its webhook, and tells it once", async () => {
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
    const recorded = (await eventsOf()).filter((event) => event["event_type"] === "smartsheet.webhook.status");
    expect(recorded).toHaveLength(2);
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

  it("is refused with options or a manifest that it cannot have, and never reads a file for the API", async () => {
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
