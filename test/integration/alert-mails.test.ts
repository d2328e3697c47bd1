import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openMailServer, type MailServer } from "../support/mail-server.ts";
import { openSinkServer, type SinkServer } from "../support/sink-server.ts";
import { ALERTING, startTestGateway, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let mail: MailServer;
let gone: SinkServer;

const YAML = `
alerts:
  rules: [{ rule: dead_letters, enabled: false }]
  channels: [{ name: ops, kind: email, destination: { to: operators@example.com } }]
tenants: [{ id: acme, contact_email: ops@acme.example }]
`;

beforeAll(async () => {
  [mail, gone] = await Promise.all([openMailServer(), openSinkServer({ answer: { status: 410 } })]);
  const env = { ...ALERTING, SMTP_URL: mail.url, SMTP_FROM: "Posthorn <posthorn@example.com>" };
  gateway = await startTestGateway({ yaml: YAML, env });
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([mail.close(), gone.close()]);
});

describe("a suspension", () => {
  it("is mailed to the contact of its tenant, and as an alert to those who run the gateway", async () => {
    await gateway.subscribe({ name: "shop", url: gone.url, events: ["order.paid"], tenant_id: "acme" });
    await gateway.publish({ event_type: "order.paid", payload: {}, tenant_id: "acme" });
    const mails = await mail.received(2);
    const subjects = new Map(mails.map(({ to, headers }) => [to.join(), headers.get("subject")]));
    expect(subjects.get("ops@acme.example")).toBe("webhook.suspended: shop");
    expect(subjects.get("operators@example.com")).toBe(
      "[critical] A subscription is suspended, and its deliveries are held: shop",
    );
    const text = mails.find(({ to }) => to.includes("ops@acme.example"))?.raw ?? "";
    expect(text).toContain("Review and reactivate webhook.");
  });
});
