import { expect, it } from "vitest";
import { github } from "../../../src/sources/github.ts";
import { hubspot } from "../../../src/sources/hubspot.ts";
import { sendgrid } from "../../../src/sources/sendgrid.ts";
import { slack } from "../../../src/sources/slack.ts";
import type { ArrivedRequest, KindSettings, PushedSourceKind } from "../../../src/sources/source-kind.ts";
import { twilio } from "../../../src/sources/twilio.ts";
import { codeOf } from "./read-kind.ts";

/** Signatures that the providers publish themselves, in their documentation or in the tests of their libraries. */

interface KnownAnswer {
  what: string;
  kind: PushedSourceKind;
  settings: Omit<KindSettings, "source">;
  request: Partial<ArrivedRequest>;
}

const FORM = "application/x-www-form-urlencoded";
const HUBSPOT_SECRET = "yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy";
const HUBSPOT_BODY =
  '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":123,"changeSource":"CRM","changeFlag":"NEW","appId":54321}]';

const ANSWERS: readonly KnownAnswer[] = [
  {
    what: "GitHub: validating webhook deliveries",
    kind: github,
    settings: { secrets: ["It's a Secret to Everybody"], options: {} },
    request: {
      headers: { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
      body: Buffer.from("Hello, World!"),
    },
  },
  {
    what: "Slack: verifying requests",
    kind: slack,
    settings: { secrets: ["8f742231b10e8888abcd99yyyzzz85a5"], options: {} },
    request: {
      headers: {
        "content-type": FORM,
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      },
      receivedAt: 1_531_420_618_000,
      body: Buffer.from(
        "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
      ),
    },
  },
  {
    what: "Twilio: security",
    kind: twilio,
    settings: { secrets: ["12345"], options: {} },
    request: {
      headers: { "content-type": FORM, "x-twilio-signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=" },
      url: "https://mycompany.com/myapp.php?foo=1&bar=2",
      query: "foo=1&bar=2",
      body: Buffer.from(
        "Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE",
      ),
    },
  },
  {
    what: "HubSpot: v1",
    kind: hubspot,
    settings: { secrets: [HUBSPOT_SECRET], options: { accept: ["v1"] } },
    request: {
      headers: {
        "x-hubspot-signature-version": "v1",
        "x-hubspot-signature": "232db2615f3d666fe21a8ec971ac7b5402d33b9a925784df3ca654d05f4817de",
      },
      body: Buffer.from(HUBSPOT_BODY),
    },
  },
  {
    what: "HubSpot: v2",
    kind: hubspot,
    settings: { secrets: [HUBSPOT_SECRET], options: { accept: ["v2"] } },
    request: {
      method: "GET",
      url: "https://www.example.com/webhook_uri",
      headers: {
        "x-hubspot-signature-version": "v2",
        "x-hubspot-signature": "eee2dddcc73c94d699f5e395f4b9d454a069a6855fbfa152e91e88823087200e",
      },
    },
  },
  {
    what: "SendGrid: event webhook",
    kind: sendgrid,
    settings: {
      secrets: [
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==",
      ],
      options: {},
    },
    request: {
      headers: {
        "x-twilio-email-event-webhook-timestamp": "1600112502",
        "x-twilio-email-event-webhook-signature":
          "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
      },
      body: Buffer.from(
        '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
      ),
    },
  },
];

it.each(ANSWERS)("a signature that the provider has published is taken, of nothing else: $what", async (known) => {
  const request: ArrivedRequest = {
    method: "POST",
    path: "/webhook/known",
    query: "",
    headers: {},
    body: Buffer.alloc(0),
    receivedAt: 0,
    url: "https://hooks.example.com/webhook/known",
    ...known.request,
  };
  const settings = { source: "known", ...known.settings };
  expect(await codeOf(() => known.kind.verify?.(request, settings))).toBeUndefined();
  const longer = { ...request, body: Buffer.concat([request.body, Buffer.from("&a=1")]) };
  expect(await codeOf(() => known.kind.verify?.(longer, settings))).toBe("bad_signature");
});

it("the older signatures of HubSpot count only where they are accepted", async () => {
  for (const { kind, request, settings } of ANSWERS.filter((answer) => answer.kind === hubspot)) {
    const arrived = { method: "POST", path: "", query: "", url: "", receivedAt: 0, headers: {}, body: Buffer.alloc(0) };
    const refused = { source: "known", secrets: settings.secrets, options: {} };
    expect(await codeOf(() => kind.verify?.({ ...arrived, ...request }, refused))).toBe("bad_signature");
  }
});
