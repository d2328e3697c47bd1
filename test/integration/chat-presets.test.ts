import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OWN_EVENT_DOCS } from "../../src/api/openapi/own-events.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { startTestGateway, type TestGateway } from "../support/test-gateway.ts";

type Json = Record<string, unknown>;

/** What each chat says of the largest message that it takes. */
const CHATS = {
  slack(message: Json) {
    const { text, blocks } = message as { text: string; blocks: [Block, Block, { type: string; elements: [Text] }] };
    const [header, section, context] = blocks;
    expect(Object.keys(message)).toEqual(["text", "blocks"]);
    expect([header.type, section.type, context.type]).toEqual(["header", "section", "context"]);
    expect(header.text.text.length).toBeLessThanOrEqual(150);
    expect(section.text.text.length).toBeLessThanOrEqual(3000);
    expect(context.elements[0].text.length).toBeLessThanOrEqual(2000);
    expect(text).not.toMatch(/[<>]/);
    return { title: header.text.text, text: section.text.text };
  },
  discord(message: Json) {
    const {
      content,
      embeds,
      allowed_mentions: mentions,
    } = message as {
      content: string;
      embeds: [{ description: string; color: number; timestamp: string; footer: { text: string } }];
      allowed_mentions: unknown;
    };
    expect(mentions).toEqual({ parse: [] });
    expect(content.length).toBeLessThanOrEqual(2000);
    expect(embeds).toHaveLength(1);
    expect(embeds[0].description.length).toBeLessThanOrEqual(4096);
    expect(embeds[0].footer.text.length).toBeLessThanOrEqual(2048);
    expect(Number.isNaN(Date.parse(embeds[0].timestamp))).toBe(false);
    return { title: content, text: embeds[0].description };
  },
  teams(message: Json) {
    const { type, attachments } = message as { type: string; attachments: [{ contentType: string; content: Card }] };
    expect([type, attachments.length, attachments[0].contentType]).toEqual([
      "message",
      1,
      "application/vnd.microsoft.card.adaptive",
    ]);
    const { content } = attachments[0];
    expect([content.type, content.version]).toEqual(["AdaptiveCard", "1.4"]);
    expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThanOrEqual(28 * 1024);
    const [title, text] = content.body;
    return { title: title.inlines[0].text, text: text.inlines[0].text };
  },
};

interface Text {
  text: string;
}
interface Block {
  type: string;
  text: Text;
}
interface Card {
  type: string;
  version: string;
  body: [{ inlines: [Text] }, { inlines: [Text] }];
}

describe.each(["slack", "discord", "teams"] as const)("the preset %s", (preset) => {
  let gateway: TestGateway;
  let sink: SinkServer;

  beforeAll(async () => {
    [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
    await gateway.subscribe({ name: "chat", url: sink.url, events: ["#"], preset });
  });
  afterAll(() => Promise.all([gateway.close(), sink.close()]));

  const read = (text: string) => CHATS[preset](JSON.parse(text) as Json);

  async function preview(event: object) {
    const { json } = await gateway.post("/api/v1/templates/preview", { settings: { preset }, event });
    expect(json).toMatchObject({ problems: [], fault: null });
    const [{ text = "" } = {}] = json["rendered"] as { text?: string }[];
    return read(text);
  }

  async function publish(payload: unknown) {
    const before = sink.requests.length;
    const { status, text } = await gateway.publish({ event_type: "order.created", source: "shop", payload });
    expect([status, text]).toEqual([202, expect.any(String)]);
    await sink.received(before + 1);
    const request = sink.requests[before];
    expect(request?.headers["content-type"]).toBe("application/json");
    return read(String(request?.body));
  }

  it("tells of any event", async () => {
    expect(await publish({ id: 1, name: "A" })).toEqual({ title: "order.created", text: '{"id":1,"name":"A"}' });
  });

  it("stays within the limits, whatever an event says", async () => {
    const hostile = `"}],<!channel> @everyone [x](https://evil.example) \\ \n\u0000 ${"😀".repeat(9000)}`;
    expect((await publish({ hostile })).text.length).toBeLessThanOrEqual(3000);
    expect((await publish({})).text).toBe("{}");
    expect((await preview({ event_type: "order.created", data: "" })).text).toBe("-");
  });

  it.each(OWN_EVENT_DOCS.map(({ type, example }) => [type, example] as const))(
    "has words for %s",
    async (type, data) => {
      const { title, text } = await preview({ event_type: type, data });
      expect(title).not.toBe(type);
      expect(title.length).toBeGreaterThan(5);
      expect(text).not.toMatch(/[{}]/);
      expect(text.length).toBeGreaterThan(1);
    },
  );
});
