import { stored } from "../../../../src/model/accepted.ts";
import { createHmac } from "node:crypto";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { PosthornError } from "../../../../src/model/errors.ts";
import { readManifest } from "../../../../plugins/smartsheet/manifests.ts";
import {
  createSmartsheetKind,
  type SmartsheetContext,
  type WebhookStatusChange,
} from "../../../../plugins/smartsheet/source-kind.ts";
import type { ArrivedRequest, KindSettings, Reading } from "../../../../src/sources/source-kind.ts";

const SHEET = "4509506114742148";
const WEBHOOK = "4503604829677444";
const SECRET = "3qo29mvjou6xt5fujukjtwzhj0";
const MANIFEST = { sheets: [{ id: Number(SHEET), name: "Purchase orders" }] };

/** The first two events are of Smartsheet's own documentation. */
const DOCUMENTED = `{"nonce":"4b2ed20d-6f00-4b0c-8fac-082182aa9aac","timestamp":"2015-10-27T17:04:23.795+0000",
"webhookId":${WEBHOOK},"scope":"sheet","scopeObjectId":${SHEET},"events":[
{"objectType":"sheet","eventType":"updated","id":4509506114742148,"userId":9007194052434043,"timestamp":"2015-10-27T17:03:15.000+0000"},
{"objectType":"row","eventType":"created","id":7129509179746180,"userId":9007194052434043,"timestamp":"2015-10-27T17:03:15.000+0000"},
{"objectType":"cell","eventType":"updated","rowId":7129509179746180,"columnId":2650235767940996,"userId":9007194052434043,
"timestamp":"2015-10-27T17:03:15.000+00:00","changeAgent":"MyChangeAgent"}]}`;

let registered: Map<string, string[]> | undefined;
let statuses: WebhookStatusChange[] = [];
const context: SmartsheetContext = {
  findSheets: (manifest) => readManifest(manifest),
  findWebhooks: () => (registered === undefined ? undefined : { secrets: registered }),
  async recordStatus(change) {
    statuses.push(change);
  },
};
const kind = createSmartsheetKind(context);

beforeEach(() => {
  registered = undefined;
  statuses = [];
});

const settings = (change: Partial<KindSettings> = {}): KindSettings => ({
  source: "smartsheet",
  secrets: [],
  options: {},
  ...change,
});

const request = (body: string | Buffer, headers: Record<string, string> = {}): ArrivedRequest => ({
  method: "POST",
  path: "/webhook/smartsheet",
  query: "",
  headers: { "content-type": "application/json", ...headers },
  body: Buffer.from(body),
  receivedAt: 1_700_000_000_000,
  url: "https://hooks.example.com/webhook/smartsheet",
});

const hmac = (body: string, secret = SECRET) => createHmac("sha256", secret).update(body).digest("hex");
const signed = (body: string, secret = SECRET) => request(body, { "smartsheet-hmac-sha256": hmac(body, secret) });
const callback = (events: string) =>
  `{"nonce":"n1","webhookId":${WEBHOOK},"scope":"sheet","scopeObjectId":${SHEET},"events":${events}}`;

const read = (body: string | Buffer, given?: Partial<KindSettings>) =>
  kind.events?.(request(body), settings(given), { kind: "json", texts: [] }) as Reading;
const bodiesOf = (reading: Reading) =>
  reading.events.map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);

function refusalOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof PosthornError) return error.code;
    throw error;
  }
}

describe("a challenge of Smartsheet", () => {
  const challenge = (body: string, value = "b1c2") => request(body, { "smartsheet-hook-challenge": value });
  const answer = (given: ArrivedRequest) => kind.handshake?.(given, settings());

  it("is answered unsigned, in the header and in the body", () => {
    expect(answer(challenge(`{"challenge":"b1c2","webhookId":${WEBHOOK}}`))).toEqual({
      status: 200,
      headers: { "content-type": "application/json", "smartsheet-hook-response": "b1c2" },
      body: '{"smartsheetHookResponse":"b1c2"}',
    });
    expect(answer(request(DOCUMENTED))).toBeUndefined();
  });

  it("is rejected for a webhook that was not registered, once any was", () => {
    registered = new Map([[WEBHOOK, [SECRET]]]);
    expect(answer(challenge(`{"challenge":"b1c2","webhookId":${WEBHOOK}}`))?.status).toBe(200);
    const foreign = `{"challenge":"b1c2","webhookId":${BigInt(WEBHOOK) + 1n}}`;
    expect(refusalOf(() => answer(challenge(foreign)))).toBe("unknown_webhook");
    expect(refusalOf(() => answer(challenge("{}")))).toBe("unknown_webhook");
  });

  it("is rejected when its body is over 64 KB, or when it could not go back in a header", () => {
    expect(refusalOf(() => answer(challenge(" ".repeat(65_537))))).toBe("too_large");
    expect(refusalOf(() => answer(challenge("{}", "x".repeat(257))))).toBe("bad_request");
    expect(refusalOf(() => answer(challenge("{}", "")))).toBe("bad_request");
  });
});

describe("a signature of Smartsheet", () => {
  const verify = (given: ArrivedRequest, secrets: string[] = []) =>
    refusalOf(() => kind.verify?.(given, settings({ secrets })));

  // shows: A11
  it("is required as soon as there is a secret", () => {
    expect(verify(request(DOCUMENTED))).toBeUndefined();
    expect(verify(request(DOCUMENTED), [SECRET])).toBe("bad_signature");
    expect(verify(signed(DOCUMENTED), [SECRET])).toBeUndefined();
    expect(verify(signed(DOCUMENTED), ["old", SECRET])).toBeUndefined();
    registered = new Map([[WEBHOOK, [SECRET]]]);
    expect(verify(request(DOCUMENTED))).toBe("bad_signature");
  });

  it("is made with the secret of the webhook that the callback names", () => {
    registered = new Map([
      ["1", ["other"]],
      [WEBHOOK, [SECRET, "before"]],
    ]);
    expect(verify(signed(DOCUMENTED))).toBeUndefined();
    expect(verify(signed(DOCUMENTED, "before"))).toBeUndefined();
    expect(verify(signed(DOCUMENTED, "other"))).toBe("bad_signature");
    expect(verify(signed(DOCUMENTED, "of the source"), ["of the source"])).toBeUndefined();
  });

  it("may lack its leading zeros, and nothing else", () => {
    const texts = Array.from({ length: 400 }, (_, n) => callback(`[${n}]`)).filter((text) =>
      hmac(text).startsWith("0"),
    );
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts) {
      const short = hmac(text).replace(/^0+/, "");
      expect(verify(request(text, { "smartsheet-hmac-sha256": short }), [SECRET])).toBeUndefined();
      expect(verify(request(text, { "smartsheet-hmac-sha256": short.slice(0, -1) }), [SECRET])).toBe("bad_signature");
    }
  });

  it.each(["", "zz", "0".repeat(65), `sha256=${hmac(DOCUMENTED)}`])("is rejected when it is %j", (value) => {
    expect(verify(request(DOCUMENTED, { "smartsheet-hmac-sha256": value }), [SECRET])).toBe("bad_signature");
  });

  it("covers every byte", () => {
    const given = signed(DOCUMENTED);
    expect(verify({ ...given, body: Buffer.from(`${DOCUMENTED} `) }, [SECRET])).toBe("bad_signature");
  });
});

describe("a callback of Smartsheet", () => {
  // shows: A16, A26
  it("is split into events with normalised bodies", () => {
    const reading = read(DOCUMENTED);
    expect(reading.events.map(({ type }) => type)).toEqual([
      "smartsheet.sheet.updated",
      "smartsheet.row.created",
      "smartsheet.cell.updated",
    ]);
    const [, row, cell] = bodiesOf(reading);
    expect(row).toEqual({
      event_id: reading.events[1]?.id,
      sheet_id: SHEET,
      row_id: "7129509179746180",
      column_id: null,
      object_id: "7129509179746180",
      object_type: "row",
      action: "created",
      user_id: "9007194052434043",
      timestamp: "2015-10-27T17:03:15.000Z",
      webhook_id: WEBHOOK,
      nonce: "4b2ed20d-6f00-4b0c-8fac-082182aa9aac",
      change_agent: null,
    });
    expect(Object.keys(row ?? {})).toEqual(
      "event_id sheet_id row_id column_id object_id object_type action user_id timestamp webhook_id nonce change_agent".split(
        " ",
      ),
    );
    expect(cell).toMatchObject({
      row_id: "7129509179746180",
      column_id: "2650235767940996",
      object_id: null,
      timestamp: "2015-10-27T17:03:15.000Z",
      change_agent: "MyChangeAgent",
    });
    expect(reading.events[1]?.occurredAt).toBe(Date.UTC(2015, 9, 27, 17, 3, 15));
  });

  it("keeps every digit of its ids, as numbers and as texts", () => {
    const big = "12345678901234567890123";
    const [one, two] = bodiesOf(
      read(
        callback(`[{"objectType":"row","eventType":"updated","id":${big},"userId":"${big}"},
        {"objectType":"row","eventType":"updated","id":"${big}1"}]`),
      ),
    );
    expect(one).toMatchObject({ row_id: big, user_id: big });
    expect(two).toMatchObject({ row_id: `${big}1`, user_id: null, timestamp: null });
  });

  it("gives each change an id, the same whenever the callback comes, and another in another callback", () => {
    const ids = (body: string, source = "smartsheet") => read(body, { source }).events.map(({ id }) => id);
    const first = ids(DOCUMENTED);
    expect(new Set(first).size).toBe(3);
    // When the callback was made, or made again, says nothing of the change.
    expect(ids(DOCUMENTED.replace("23.795", "24.800"))).toEqual(first);
    expect(ids(DOCUMENTED.replace("15.000+0000", "15.000+00:00"))).toEqual(first);
    for (const other of [
      // Two edits of a row within one second.
      ids(DOCUMENTED.replace("4b2ed20d", "ffffffff")),
      ids(DOCUMENTED.replaceAll("17:03:15", "17:03:16")),
      ids(DOCUMENTED.replace(WEBHOOK, "1")),
      ids(DOCUMENTED, "another-source"),
    ]) {
      expect(other.filter((id) => first.includes(id))).toEqual([]);
    }
  });

  it("tells changes apart by when the callback was made, where it has no nonce", () => {
    const body = (made: string) => `{"timestamp":"${made}",${DOCUMENTED.slice(DOCUMENTED.indexOf('"webhookId"'))}`;
    const [one] = read(body("2015-10-27T17:04:23.795+0000")).events;
    expect(read(body("2015-10-27T17:04:23.795+0000")).events[0]?.id).toBe(one?.id);
    expect(read(body("2015-10-27T17:04:24.100+0000")).events[0]?.id).not.toBe(one?.id);
  });

  it("is ordered by sheet or by row", () => {
    const keys = (ordering: string) => read(DOCUMENTED, { options: { ordering } }).events.map((one) => one.orderingKey);
    expect(keys("sheet")).toEqual([SHEET, SHEET, SHEET]);
    expect(keys("row")).toEqual([SHEET, "7129509179746180", "7129509179746180"]);
  });

  it("is ignored when its sheet is not in the manifest", () => {
    expect(read(DOCUMENTED, { manifest: MANIFEST }).events).toHaveLength(3);
    expect(read(DOCUMENTED, { manifest: { sheets: [{ id: "1", name: "Other" }] } })).toEqual({
      events: [],
      ignored: [{ cause: "unknown_context" }],
    });
  });

  it("is ignored where the app has changed something itself", () => {
    const options = { ignore_change_agents: ["posthorn", "MyChangeAgent"] };
    const reading = read(DOCUMENTED.replace('"MyChangeAgent"', '"other, MyChangeAgent"'), { options });
    expect(reading.events).toHaveLength(2);
    expect(reading.ignored).toEqual([{ cause: "own_change" }]);
    expect(read(DOCUMENTED, { options: { ignore_change_agents: ["My"] } }).events).toHaveLength(3);
  });

  it("about the webhook itself is recorded and makes no event, whatever the sheet", async () => {
    const body = `{"nonce":"n","timestamp":"2015-10-27T17:04:23.795+0000","webhookId":${WEBHOOK},"scope":"sheet",
      "scopeObjectId":${SHEET},"newWebhookStatus":"DISABLED_SCOPE_INACCESSIBLE"}`;
    const form = { kind: "json", texts: [] } as const;
    const reading = await kind.events?.(request(body), settings({ manifest: { sheets: [] } }), form);
    expect(reading).toEqual({ events: [], ignored: [{ cause: "webhook_status" }] });
    const at = 1_700_000_000_000;
    const status = "DISABLED_SCOPE_INACCESSIBLE";
    expect(statuses).toEqual([{ source: "smartsheet", webhookId: WEBHOOK, sheetId: SHEET, status, at }]);
  });

  it.each([
    ["no object", "[]", "invalid"],
    ["no webhook id", `{"scopeObjectId":${SHEET},"events":[]}`, "invalid"],
    ["a webhook id that is none", `{"webhookId":"x1","scopeObjectId":${SHEET},"events":[]}`, "invalid"],
    ["no sheet", `{"webhookId":1,"events":[]}`, "invalid"],
    ["a status that is none", `{"webhookId":1,"scopeObjectId":${SHEET},"newWebhookStatus":"gone fishing"}`, "invalid"],
    ["no events", `{"webhookId":1,"scopeObjectId":${SHEET}}`, "invalid"],
    ["events that are no array", callback('{"0":1}'), "invalid"],
    ["an empty array", callback("[]"), "no_events"],
    ["an event that is no object", callback("[7]"), "invalid"],
    ["an event without a type", callback('[{"eventType":"created","id":1}]'), "invalid"],
    ["a type that is no word", callback('[{"objectType":"r o w","eventType":"created","id":1}]'), "invalid"],
    ["a row without an id", callback('[{"objectType":"row","eventType":"created"}]'), "invalid"],
    ["an id with a fraction", callback('[{"objectType":"row","eventType":"created","id":1.5}]'), "invalid"],
    ["an id with an exponent", callback('[{"objectType":"row","eventType":"created","id":1e5}]'), "invalid"],
    ["an id that is negative", callback('[{"objectType":"row","eventType":"created","id":-1}]'), "invalid"],
    ["an id that is a word", callback('[{"objectType":"row","eventType":"created","id":"one"}]'), "invalid"],
  ])("with %s is ignored with a cause", (_, body, cause) => {
    expect(read(body)).toEqual({ events: [], ignored: [{ cause }] });
  });

  it("of an unknown object type is an event like others, and filtered by default", () => {
    const reading = read(callback('[{"objectType":"proof","eventType":"approved"}]'));
    expect(reading.events.map(({ type }) => type)).toEqual(["smartsheet.proof.approved"]);
    expect(kind.only).not.toContain("proof.*");
  });

  it("keeps what is good in it beside what is not", () => {
    const reading = read(callback('[7,{"objectType":"row","eventType":"created","id":1}]'));
    expect(reading.events).toHaveLength(1);
    expect(reading.ignored).toEqual([{ cause: "invalid" }]);
  });

  it("is rejected unless it is JSON", () => {
    const events = () => kind.events?.(request("<a/>"), settings(), { kind: "xml", texts: [] });
    expect(refusalOf(events)).toBe("unreadable_body");
  });

  it("throws nothing but rejections, whatever the bytes are", () => {
    registered = new Map([[WEBHOOK, [SECRET]]]);
    const members = fc.dictionary(
      fc.constantFrom("webhookId", "scopeObjectId", "events", "newWebhookStatus", "nonce", "x"),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.json(),
          members.map((value) => JSON.stringify(value)),
          fc.string(),
        ),
        (text) => {
          refusalOf(() => kind.verify?.(signed(text), settings()));
          refusalOf(() => kind.handshake?.(request(text, { "smartsheet-hook-challenge": "a" }), settings()));
          const reading = read(text) as Reading | Promise<Reading>;
          if (reading instanceof Promise) return;
          for (const body of bodiesOf(reading)) expect(body["event_id"]).toMatch(/^ss_[A-Za-z0-9_-]{43}$/);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("with ten thousand events is split in many turns of the loop", async () => {
    const events = Array.from(
      { length: 10_000 },
      (_, n) =>
        `{"objectType":"row","eventType":"updated","id":${7129509179746180n + BigInt(n)},"userId":9007194052434043,` +
        `"timestamp":"2015-10-27T17:03:15.000+0000","changeAgent":"some other application"}`,
    );
    const body = callback(`[${events.join(",")}]`);
    expect(body.length).toBeLessThan(2_097_152);
    let turns = 0;
    const count = () => void (turns++, (counting = setImmediate(count)));
    let counting = setImmediate(count);
    const reading = await kind.events?.(request(body), settings(), { kind: "json", texts: [] });
    clearImmediate(counting);
    expect(reading?.events).toHaveLength(10_000);
    expect(new Set(reading?.events.map(({ id }) => id)).size).toBe(10_000);
    expect(turns).toBeGreaterThanOrEqual(10);
  });
});

describe("the answer to Smartsheet", () => {
  it.each([
    [stored("evt_1", 1, []), '{"status":"queued","events":1}'],
    [
      { kind: "several", eventIds: ["evt_1", "evt_2"], deliveries: 2, givenUp: undefined } as const,
      '{"status":"queued","events":2}',
    ],
    [{ kind: "duplicate", eventId: "evt_1" } as const, '{"status":"duplicate","event_id":"evt_1"}'],
    [{ kind: "ignored", cause: "filtered" } as const, '{"status":"ignored","cause":"filtered"}'],
  ])("is exactly 200: %j", (outcome, body) => {
    expect(kind.answer?.(outcome)).toEqual({ status: 200, headers: { "content-type": "application/json" }, body });
  });
});
