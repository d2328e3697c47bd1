import { describe, expect, it } from "vitest";
import { meta } from "../../../src/sources/meta.ts";
import { SIGNED_AT, arrive, json } from "../../contract/source-fixture.ts";
import { fixture as discord } from "../../contract/sources/discord.ts";
import { fixture as dropbox } from "../../contract/sources/dropbox.ts";
import { fixture as graph } from "../../contract/sources/microsoft-graph.ts";
import { fixture as slack } from "../../contract/sources/slack.ts";
import { fixture as zoom } from "../../contract/sources/zoom.ts";
import { codeOf } from "./read-kind.ts";

const ASKING = {
  slack: json({ type: "url_verification", challenge: "x" }),
  zoom: json({ event: "endpoint.url_validation", payload: { plainToken: "v0:1781524800:{}" } }),
  discord: json({ type: 1 }),
};

describe("a handshake that must be signed", () => {
  it.each([
    ["slack", slack, ASKING.slack],
    ["zoom", zoom, ASKING.zoom],
    ["discord", discord, ASKING.discord],
  ] as const)("is rejected without a signature, or with one of another body: %s", async (_name, fixture, asking) => {
    const { kind, settings } = fixture;
    const unsigned = { ...fixture.sign(SIGNED_AT, asking), headers: {} };
    expect(await codeOf(() => kind.handshake?.(unsigned, settings))).toBe("bad_signature");
    const { headers } = fixture.sign(SIGNED_AT);
    expect(await codeOf(() => kind.handshake?.({ ...unsigned, headers }, settings))).toBe("bad_signature");
  });

  it("is rejected when it is stale", async () => {
    for (const [fixture, asking] of [
      [slack, ASKING.slack],
      [zoom, ASKING.zoom],
    ] as const) {
      const stale = { ...fixture.sign(SIGNED_AT, asking), receivedAt: SIGNED_AT + 301_000 };
      expect(await codeOf(() => fixture.kind.handshake?.(stale, fixture.settings))).toBe("bad_signature");
    }
  });

  it("is answered with the secret that signed it, while there are two", () => {
    const request = zoom.sign(SIGNED_AT, ASKING.zoom);
    const rotated = { ...zoom.settings, secrets: ["the new one", ...zoom.settings.secrets] };
    expect(zoom.kind.handshake?.(request, rotated)).toEqual(zoom.kind.handshake?.(request, zoom.settings));
  });
});

describe("Meta's handshake", () => {
  const ask = (query: string) => arrive("meta", { at: SIGNED_AT, method: "GET", query, headers: {} });
  const settings = { source: "meta", secrets: ["s"], options: { verify_token: "t" } };

  it("is forbidden with another token, and without one", async () => {
    for (const query of [
      "hub.mode=subscribe&hub.challenge=1&hub.verify_token=u",
      "hub.mode=subscribe&hub.challenge=1",
    ]) {
      expect(await codeOf(() => meta.handshake?.(ask(query), settings))).toBe("forbidden");
    }
    const query = "hub.mode=subscribe&hub.challenge=1&hub.verify_token=";
    expect(await codeOf(() => meta.handshake?.(ask(query), { ...settings, options: {} }))).toBe("forbidden");
  });

  it("must be a subscription", async () => {
    const query = "hub.mode=other&hub.challenge=1&hub.verify_token=t";
    expect(await codeOf(() => meta.handshake?.(ask(query), settings))).toBe("bad_request");
  });
});

describe("a challenge that is echoed", () => {
  it("has a length", async () => {
    const long = "x".repeat(5000);
    for (const [fixture, name] of [
      [dropbox, "challenge"],
      [graph, "validationToken"],
    ] as const) {
      for (const query of [`${name}=${long}`, `${name}=`]) {
        const request = arrive("x", { at: SIGNED_AT, method: "GET", query, headers: {} });
        expect(await codeOf(() => fixture.kind.handshake?.(request, fixture.settings))).toBe("bad_request");
      }
    }
  });

  it("is plain text, whatever it looks like", () => {
    const query = "validationToken=%3Cscript%3Ealert(1)%3C/script%3E";
    const request = arrive("graph", { at: SIGNED_AT, query, headers: {} });
    expect(graph.kind.handshake?.(request, graph.settings)).toEqual({
      status: 200,
      headers: { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
      body: "<script>alert(1)</script>",
    });
  });
});
