import { verify as verifyGithub } from "@octokit/webhooks-methods";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { verifyKey } from "discord-interactions";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Stripe } from "stripe";
import { Webhook as SvixWebhook } from "svix";
import { validateRequest } from "twilio";
import { expect, it } from "vitest";
import type { ArrivedRequest } from "../../src/sources/source-kind.ts";
import { fixture as discord } from "./sources/discord.ts";
import { fixture as github } from "./sources/github.ts";
import { fixture as sendgrid } from "./sources/sendgrid.ts";
import { fixture as standard } from "./sources/standard-webhooks.ts";
import { fixture as stripe } from "./sources/stripe.ts";
import { fixture as svix } from "./sources/svix.ts";
import { fixture as twilio } from "./sources/twilio.ts";

/** The fixtures are what the providers send, by the word of their own libraries. Some read the time from the system. */
const now = Date.now();

it("GitHub's library takes the fixture", async () => {
  const { body, headers } = github.sign(now);
  expect(await verifyGithub(secretOf(github), body.toString(), String(headers["x-hub-signature-256"]))).toBe(true);
});

it("Stripe's library takes the fixture", () => {
  const { body, headers } = stripe.sign(now);
  const event = Stripe.webhooks.constructEvent(body, String(headers["stripe-signature"]), secretOf(stripe));
  expect(event.type).toBe("invoice.paid");
});

it("Twilio's library takes the fixture", () => {
  const request = twilio.sign(now);
  const form = new URLSearchParams(request.body.toString());
  const fields = Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name)]));
  expect(validateRequest(secretOf(twilio), String(request.headers["x-twilio-signature"]), request.url, fields)).toBe(
    true,
  );
});

it("Discord's library takes the fixture", async () => {
  const { body, headers } = discord.sign(now);
  const signature = String(headers["x-signature-ed25519"]);
  expect(await verifyKey(body, signature, String(headers["x-signature-timestamp"]), secretOf(discord))).toBe(true);
});

it("SendGrid's library takes the fixture", () => {
  const { body, headers } = sendgrid.sign(now);
  const library = new EventWebhook();
  const key = library.convertPublicKeyToECDSA(secretOf(sendgrid));
  const header = (name: string) => String(headers[`x-twilio-email-event-webhook-${name}`]);
  expect(library.verifySignature(key, body, header("signature"), header("timestamp"))).toBe(true);
});

it("the libraries of Standard Webhooks and of Svix take their fixtures", () => {
  expect(new StandardWebhook(secretOf(standard)).verify(...received(standard.sign(now)))).toBeDefined();
  expect(new SvixWebhook(secretOf(svix)).verify(...received(svix.sign(now)))).toBeDefined();
});

function secretOf({ settings }: { settings: { secrets: readonly string[] } }): string {
  return String(settings.secrets[0]);
}

function received({ body, headers }: ArrivedRequest): [Buffer, Record<string, string>] {
  return [body, Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))];
}
