import { describe, expect, it } from "vitest";
import { SIGNED_AT, json, withBody } from "../../contract/source-fixture.ts";
import { fixture as hubspot } from "../../contract/sources/hubspot.ts";
import { fixture as graph } from "../../contract/sources/microsoft-graph.ts";
import { fixture as sendgrid } from "../../contract/sources/sendgrid.ts";
import { codeOf, readRequest } from "./read-kind.ts";

describe("a request with several events", () => {
  it("is cut into their bytes as they were sent", () => {
    const items = [
      '{"event":"open", "big":12345678901234567890,"t":"\\u00e4\\"]"}',
      '{\n"event":"click","sg_event_id":"2"}',
    ];
    const body = Buffer.from(`\ufeff [ ${items[0]} ,${items[1]}]\r\n`);
    const { events } = readRequest(sendgrid.kind, withBody(sendgrid.sign(SIGNED_AT), body), sendgrid.settings);
    expect(events.map(({ body: part }) => part?.toString())).toEqual(items);
    expect(events.map(({ type }) => type)).toEqual(["sendgrid.open", "sendgrid.click"]);
  });

  it("leaves out what is no object, with a reason", () => {
    const body = Buffer.from('[1, {"event":"open"}, "x", null, [{"event":"click"}]]');
    const read = readRequest(sendgrid.kind, withBody(sendgrid.sign(SIGNED_AT), body), sendgrid.settings);
    expect(read.events).toHaveLength(1);
    expect(read.ignored).toEqual(Array.from({ length: 4 }, () => ({ cause: "invalid" })));
  });

  it("has an end", async () => {
    const body = Buffer.from(`[${Array.from({ length: 10_001 }, () => "{}").join(",")}]`);
    for (const fixture of [sendgrid, hubspot]) {
      const request = withBody(fixture.sign(SIGNED_AT), body);
      expect(await codeOf(() => readRequest(fixture.kind, request, fixture.settings))).toBe("too_large");
    }
    const many = withBody(graph.sign(SIGNED_AT), Buffer.from(`{"value":${body.toString()}}`));
    expect(await codeOf(() => graph.kind.verify?.(many, graph.settings))).toBe("too_large");
  });

  it("is one event when it is one object", () => {
    const body = json({ subscriptionType: "contact.creation" });
    const { events } = readRequest(hubspot.kind, withBody(hubspot.sign(SIGNED_AT), body), hubspot.settings);
    expect(events).toMatchObject([{ type: "hubspot.contact.creation", identity: undefined }]);
  });
});

describe("HubSpot's events", () => {
  it("are the same when they are tried again", () => {
    const event = {
      eventId: 1,
      subscriptionId: 2,
      occurredAt: 1_781_524_799_000,
      subscriptionType: "a.b",
      objectId: 3,
    };
    const identities = [0, 1].map((attemptNumber) => {
      const body = json([{ ...event, attemptNumber }]);
      return readRequest(hubspot.kind, withBody(hubspot.sign(SIGNED_AT), body), hubspot.settings).events[0]?.identity;
    });
    expect(identities).toEqual(["2:1:3:1781524799000", "2:1:3:1781524799000"]);
  });
});

describe("Graph's notifications", () => {
  const read = (notification: object) =>
    readRequest(graph.kind, withBody(graph.sign(SIGNED_AT), json({ value: [notification] })), graph.settings).events[0];

  it("are told apart by their id, else by the version of the thing, else not at all", () => {
    const basic = { subscriptionId: "s", changeType: "updated", resource: "r" };
    expect(read({ ...basic, id: "n" })?.identity).toBe("s:n");
    expect(read({ ...basic, resourceData: { "@odata.etag": "e" } })?.identity).toBe("s:updated:r:e");
    expect(read(basic)?.identity).toBeUndefined();
  });

  it("of the subscription itself have types of their own", () => {
    expect(read({ lifecycleEvent: "reauthorizationRequired" })?.type).toBe(
      "microsoft-graph.lifecycle.reauthorization_required",
    );
    expect(read({ changeType: "deleted" })?.type).toBe("microsoft-graph.deleted");
  });
});
