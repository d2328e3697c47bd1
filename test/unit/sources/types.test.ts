import { getExpectedTwilioSignature } from "twilio";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { JSON_TYPE, SIGNED_AT, arrive, json, withBody } from "../../contract/source-fixture.ts";
import { fixture as discord } from "../../contract/sources/discord.ts";
import { fixture as github } from "../../contract/sources/github.ts";
import { fixture as gitlab } from "../../contract/sources/gitlab.ts";
import { fixture as mailgun } from "../../contract/sources/mailgun.ts";
import { fixture as slack } from "../../contract/sources/slack.ts";
import { fixture as twilio } from "../../contract/sources/twilio.ts";
import { fixture as zendesk } from "../../contract/sources/zendesk.ts";
import { codeOf, readRequest } from "./read-kind.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };

function typeOf({ kind, settings }: typeof github, headers: Record<string, string>, body: Buffer): string | undefined {
  return readRequest(kind, arrive("x", { at: SIGNED_AT, headers, body }), settings).events[0]?.type;
}

describe("the type of an event", () => {
  it("of GitHub has an action where there is one", () => {
    expect(typeOf(github, { ...JSON_TYPE, "x-github-event": "push" }, json({ ref: "x" }))).toBe("github.push");
    expect(typeOf(github, { ...FORM, "x-github-event": "issues" }, Buffer.from("payload={}"))).toBe("github.issues");
  });

  it("of GitLab's system hooks is what they say", () => {
    const headers = { ...JSON_TYPE, "x-gitlab-event": "System Hook" };
    expect(typeOf(gitlab, headers, json({ event_name: "user_create" }))).toBe("gitlab.system.user_create");
  });

  it("of Slack's forms is read out of them", () => {
    const interaction = encodeURIComponent(JSON.stringify({ type: "block_actions", trigger_id: "1.2" }));
    expect(typeOf(slack, FORM, Buffer.from(`payload=${interaction}`))).toBe("slack.block_actions");
    expect(typeOf(slack, FORM, Buffer.from("command=%2Fweather&trigger_id=1"))).toBe("slack.slash_command");
    expect(typeOf(slack, JSON_TYPE, json({ type: "app_rate_limited" }))).toBe("slack.app_rate_limited");
  });

  it("of Discord's interactions is their kind", () => {
    expect(typeOf(discord, JSON_TYPE, json({ type: 2, id: "1" }))).toBe("discord.application_command");
    expect(typeOf(discord, JSON_TYPE, json({ type: 99, id: "1" }))).toBe("discord.unknown");
  });

  it("of Zendesk's triggers is one for all", () => {
    expect(typeOf(zendesk, JSON_TYPE, json({ type: "incident" }))).toBe("zendesk.webhook");
    expect(typeOf(zendesk, {}, Buffer.alloc(0))).toBe("zendesk.webhook");
  });

  it("of Mailgun's routes is inbound", () => {
    expect(typeOf(mailgun, FORM, Buffer.from("token=a&subject=x"))).toBe("mailgun.inbound");
  });

  it("of Twilio is by what it tells of", () => {
    expect(typeOf(twilio, FORM, Buffer.from("CallStatus=no-answer&CallSid=C"))).toBe("twilio.call.no-answer");
    expect(typeOf(twilio, FORM, Buffer.from("x=1"))).toBe("twilio.webhook");
  });
});

it("a kind that reads JSON does not guess at anything else", async () => {
  const request = withBody(discord.sign(SIGNED_AT), Buffer.from("a=b"));
  const text = { ...request, headers: { "content-type": "text/plain" } };
  expect(await codeOf(() => readRequest(discord.kind, text, discord.settings))).toBe("unreadable_body");
});

describe("a request of Twilio", () => {
  const [token = ""] = twilio.settings.secrets;
  const signedFor = (url: string, more: object = {}) => ({
    ...twilio.sign(SIGNED_AT, Buffer.from("a=1")),
    headers: { ...FORM, "x-twilio-signature": getExpectedTwilioSignature(token, url, { a: "1" }) },
    ...more,
  });

  it("may be signed with or without the port", async () => {
    const url = "https://hooks.example.com:8443/webhook/twilio?x=1";
    for (const signed of [url, "https://hooks.example.com/webhook/twilio?x=1"]) {
      expect(await codeOf(() => twilio.kind.verify?.(signedFor(signed, { url }), twilio.settings))).toBeUndefined();
    }
    const other = signedFor("https://hooks.example.com:444/webhook/twilio?x=1", { url });
    expect(await codeOf(() => twilio.kind.verify?.(other, twilio.settings))).toBe("bad_signature");
  });

  it("may be signed for another address than it came to, when the source says so", async () => {
    const url = "https://public.example.org/in";
    const settings = { ...twilio.settings, options: { url } };
    expect(await codeOf(() => twilio.kind.verify?.(signedFor(url), settings))).toBeUndefined();
    expect(await codeOf(() => twilio.kind.verify?.(signedFor(url), twilio.settings))).toBe("bad_signature");
  });

  it("that is no form is covered by the hash in its URL", async () => {
    const body = json({ a: 1 });
    const query = `bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
    const unsigned = arrive("twilio", { at: SIGNED_AT, headers: {}, query, body });
    const headers = { ...JSON_TYPE, "x-twilio-signature": getExpectedTwilioSignature(token, unsigned.url, {}) };
    const request = { ...unsigned, headers };
    expect(await codeOf(() => twilio.kind.verify?.(request, twilio.settings))).toBeUndefined();
    const swapped = withBody(request, json({ a: 2 }));
    expect(await codeOf(() => twilio.kind.verify?.(swapped, twilio.settings))).toBe("bad_signature");
  });

  it("that is no form and has no such hash is rejected", async () => {
    const unsigned = arrive("twilio", { at: SIGNED_AT, headers: {}, body: json({ a: 1 }) });
    const headers = { ...JSON_TYPE, "x-twilio-signature": getExpectedTwilioSignature(token, unsigned.url, {}) };
    expect(await codeOf(() => twilio.kind.verify?.({ ...unsigned, headers }, twilio.settings))).toBe("bad_signature");
  });

  it("is a form of modest size", async () => {
    const large = signedFor("https://x", { body: Buffer.alloc(300 * 1024, "a=1&") });
    expect(await codeOf(() => twilio.kind.verify?.(large, twilio.settings))).toBe("too_large");
  });
});
