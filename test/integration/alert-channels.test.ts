import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/api-client.ts";
import { openMailServer, type MailServer } from "../support/mail-server.ts";
import { openCliFolder, type CliFolder } from "../support/run-cli.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ADMIN_KEY, ALERTING, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let mail: MailServer;
let sms: SinkServer;
let chat: SinkServer;
let gone: SinkServer;
let cli: CliFolder;

/** Of one kind each; nothing else of the gateway is looked at. */
const yamlOf = () => `
alerts:
  rules:
    - { rule: dead_letters, enabled: false }
    - { rule: subscription_suspended, cool_down_s: 0 }
  channels:
    - { name: mail, kind: email, destination: { to: operators@example.com } }
    - name: phone
      kind: sms
      destination:
        { gateway: generic-http, url: "${sms.url}/send", to: "+493012345678", success: { pointer: /status, equals: ok } }
    - { name: chat, url: "${chat.url}/services/T0/B0/x", preset: slack }
    - { name: log, kind: log }
tenants:
  - { id: acme, contact_email: ops@acme.example, contacts: [{ phone: "+493087654321", about: [suspended] }] }
`;

beforeAll(async () => {
  const taken = { status: 200, body: '{"status":"ok","id":"m1"}' };
  [mail, sms, chat, gone, cli] = await Promise.all([
    openMailServer(),
    openSinkServer({ answer: taken }),
    openSinkServer({ answer: { status: 200, body: "ok" } }),
    openSinkServer({ answer: { status: 410 } }),
    openCliFolder(),
  ]);
  const env = { ...ALERTING, SMTP_URL: mail.url, SMTP_FROM: "Posthorn <posthorn@example.com>" };
  gateway = await startTestGateway({ yaml: yamlOf(), env });
  Object.assign(cli.env, { POSTHORN_URL: gateway.url, POSTHORN_API_KEY: ADMIN_KEY });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([mail.close(), sms.close(), chat.close(), gone.close(), cli.remove()]);
});

const SUSPENDED = "A subscription is suspended, and its deliveries are held";
const shortMessages = () => sms.requests.map(({ body }) => JSON.parse(String(body)) as { to: string; text: string });

async function suspend(name: string): Promise<void> {
  await gateway.subscribe({ name, url: gone.url, events: [`${name}.paid`], tenant_id: "acme" });
  await gateway.publish({ event_type: `${name}.paid`, payload: {}, tenant_id: "acme" });
}

async function findAlert(): Promise<Record<string, unknown>> {
  const { json } = await gateway.get("/api/v1/alerts?status=active");
  return (json["data"] as Record<string, unknown>[])[0] ?? {};
}

describe("a suspension", () => {
  it("is an alert by e-mail, short message, chat and log, and told to the contacts of its tenant", async () => {
    await suspend("shop");
    await gateway.moveClockUntil(() => mail.mails.length > 1);
    const { mails } = mail;
    const subjects = new Map(mails.map(({ to, headers }) => [to.join(), headers.get("subject")]));
    expect(subjects.get("ops@acme.example")).toBe("webhook.suspended: shop");
    expect(subjects.get("operators@example.com")).toBe(`[critical] ${SUSPENDED}: shop`);
    const text = mails.find(({ to }) => to.includes("ops@acme.example"))?.raw ?? "";
    expect(text).toContain("Review and reactivate webhook.");

    await sms.received(2);
    const texts = new Map(shortMessages().map((message) => [message.to, message.text]));
    expect(texts.get("+493012345678")).toBe(`[critical] ${SUSPENDED}: shop`);
    expect(texts.get("+493087654321")).toBe("webhook.suspended: shop. Review and reactivate webhook");

    const [posted] = await chat.received(1);
    expect([posted?.method, posted?.path]).toEqual(["POST", "/services/T0/B0/x"]);
    const message = JSON.parse(String(posted?.body)) as { text: string; blocks: { text: { text: string } }[] };
    expect(message.text).toBe(`Alert: ${SUSPENDED}: shop`);
    expect(message.blocks[1]?.text.text).toMatch(/resume/i);

    const line = gateway.log.find(({ msg }) => msg === `alert: ${SUSPENDED}`);
    expect(line).toMatchObject({ level: "warn", rule: "subscription_suspended", causes: ["shop"] });
    const told = async () => (await findAlert())["told"] as { delivered: number; dead: number }[];
    await until(async () => (await told())[0]?.delivered === 3, undefined, "three channels that have it");
  });

  it("that the SMS gateway rejects with 200 is a dead letter of its channel, with what it answered", async () => {
    sms.answerWith({ status: 200, body: '{"status":"error","message":"no credit"}' });
    await suspend("erp");
    const [channel] = (
      (await gateway.get("/api/v1/subscriptions?tenant_id=_gateway")).json["data"] as { id: string; name: string }[]
    ).filter(({ name }) => name === "alerts: phone");
    await gateway.moveClockUntil(async () => (await gateway.deliveries(`subscription_id=${channel?.id}`)).length > 1);
    const [latest] = await gateway.deliveries(`subscription_id=${channel?.id}`);
    await until(async () => (await gateway.delivery(latest?.id ?? "")).attempt_count > 0);
    const [attempt] = (await gateway.delivery(latest?.id ?? "")).attempts;
    expect(attempt).toMatchObject({ result: "failed", response_code: 200 });
    expect(String(attempt?.["error"])).toContain("status");
    sms.answerWith({ status: 200, body: '{"status":"ok"}' });
  });
});

describe("an alert that somebody looks after", () => {
  it("is acknowledged and muted by the command line, as by the API, and then nothing more is told", async () => {
    const { id } = await findAlert();
    const acknowledged = await cli.run(["alerts", "acknowledge", String(id), "--note", "the partner knows"]);
    expect(acknowledged).toMatchObject({ exitCode: 0, stderr: "" });
    expect((await findAlert())["acknowledged"]).toMatchObject({ note: "the partner knows" });
    const muted = await cli.run(["alerts", "mute", String(id), "--for", "8h"]);
    expect(muted).toMatchObject({ exitCode: 0 });
    expect(await findAlert()).toMatchObject({ muted: true });
    const listed = await cli.run(["alerts"]);
    expect(listed.stdout).toContain("active, acknowledged, muted");

    await gateway.moveClockUntil(async () => (await gateway.get("/status")).json["queue_length"] === 0);
    const before = mail.mails.length;
    await suspend("crm");
    await gateway.moveClockUntil(async () => (await findAlert())["count"] === 3);
    expect(mail.mails.slice(before).flatMap(({ to }) => to)).not.toContain("operators@example.com");
    expect((await cli.run(["alerts", "unmute", String(id)])).exitCode).toBe(0);
    expect((await gateway.post(`/api/v1/alerts/${String(id)}/mute`, { for_s: 60 })).json).toMatchObject({
      muted: true,
    });
    expect((await gateway.post(`/api/v1/alerts/${String(id)}/unmute`, {})).json).toMatchObject({ muted: false });
  });
});
