import { createPublicKey, generateKeyPairSync, createVerify } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { EMAIL } from "../../src/destinations/email/settings.ts";
import { SENDERS, type KindWithSender } from "../../src/destinations/senders.ts";
import { until } from "../support/api-client.ts";
import { TEST_CA } from "../support/certificates.ts";
import { openMailServer, type MailServer, type MailServerOptions } from "../support/mail-server.ts";
import { startTestGateway, type TestGateway, type TestGatewayOptions } from "../support/test-gateway.ts";

const MINUTE_MS = 60_000;

let gateway: TestGateway;
let mail: MailServer;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface World {
  server?: MailServerOptions;
  env?: TestGatewayOptions["env"];
  destinationKinds?: readonly KindWithSender[];
}

async function open({ server, env, destinationKinds }: World = {}): Promise<{
  mail: MailServer;
  gateway: TestGateway;
}> {
  const opened = await openMailServer(server);
  const started = await startTestGateway({
    env: { SMTP_URL: opened.url, SMTP_FROM: "Shop <shop@example.com>", SMTP_TENANT_RATE: 1_000_000, ...env },
    ...(destinationKinds && { destinationKinds }),
  });
  return { mail: opened, gateway: started };
}

/** For tests that want settings of their own, or stop it. */
async function start(world: World = {}): Promise<void> {
  ({ mail, gateway } = await open(world));
  closing.push(mail.close, gateway.close);
}

let shared: Awaited<ReturnType<typeof open>>;
beforeAll(async () => {
  shared = await open();
});
afterAll(async () => {
  await shared.gateway.close();
  await shared.mail.close();
});

/** The gateway of all other tests, as if it were new. */
function share(): void {
  ({ mail, gateway } = shared);
  mail.forget();
  closing.push(gateway.deleteSubscriptions);
}

const DESTINATION = { to: "ops@example.com", subject: "An order", text: "There is an order." };

async function subscribe(destination: object = DESTINATION, more: object = {}): Promise<string> {
  const input = { name: "mail", kind: "email", events: ["order.*"], destination, ...more };
  const { status, json, text } = await gateway.post("/api/v1/subscriptions", input);
  expect([status, text.slice(0, 300)]).toEqual([201, expect.any(String) as string]);
  return String(json["id"]);
}

async function publish(payload: object = {}, type = "order.created"): Promise<string> {
  const { json } = await gateway.publish({ event_type: type, payload });
  return String(json["event_id"]);
}

/** The only delivery of an event, when it has ended. */
async function ended(eventId: string) {
  await until(async () => (await gateway.event(eventId)).status !== "PENDING", undefined, "the end of the delivery");
  return gateway.deliveryOf(eventId);
}

async function attempted(eventId: string, count: number): Promise<void> {
  await until(async () => (await gateway.deliveryOf(eventId)).attempt_count >= count, undefined, `attempt ${count}`);
}

describe("a destination of the kind email", () => {
  // shows: C7
  it("sends what its templates say, to whom they say, with headers that tell where it comes from", async () => {
    share();
    await subscribe({
      to: "{{ data.customer.name }} <{{ data.customer.email }}>",
      cc: ["sales@example.com"],
      bcc: ["audit@example.com"],
      reply_to: "help@example.com",
      subject: "Order {{ data.number }} für {{ data.customer.name }}",
      text: "Total: {{ data.total }}",
      html: "<p>{{ data.customer.name }}</p>",
      list_unsubscribe: "https://shop.example/leave?who={{ data.customer.email }}",
    });
    const customer = { name: "A & <b>B</b>", email: "a@customer.example" };
    const eventId = await publish({ number: "SO1", total: 12.5, customer });
    const [received] = await mail.received(1);
    const delivery = await ended(eventId);
    expect(delivery.status).toBe("delivered");
    expect(received?.from).toBe("shop@example.com");
    expect(received?.to).toEqual(["a@customer.example", "sales@example.com", "audit@example.com"]);
    const header = (name: string) => received?.headers.get(name);
    expect(header("from")).toBe("Shop <shop@example.com>");
    expect(header("cc")).toBe("sales@example.com");
    expect(header("reply-to")).toBe("help@example.com");
    expect(header("bcc")).toBeUndefined();
    expect(received?.raw).not.toContain("audit@example.com");
    expect(header("subject")).toMatch(/^=\?UTF-8\?/i);
    expect(header("x-webhook-id")).toBe(delivery.id);
    expect(header("auto-submitted")).toBe("auto-generated");
    expect(header("list-unsubscribe")).toBe("<https://shop.example/leave?who=a%40customer.example>");
    expect(header("list-unsubscribe-post")).toBe("List-Unsubscribe=One-Click");
    expect(received?.raw).toContain("Total: 12.5");
    expect(received?.raw).toContain("<p>A &amp; &lt;b&gt;B&lt;/b&gt;</p>");
    expect(delivery.attempts[0]).toMatchObject({
      url: `smtp://127.0.0.1:${mail.port}`,
      result: "success",
      record: {
        message_id: header("message-id"),
        accepted: ["a@customer.example", "sales@example.com", "audit@example.com"],
        refused: [],
        deferred: [],
      },
    });
  });

  it("has the same Message-ID in every try, and another after a replay", async () => {
    share();
    mail.behave({ message: 451 });
    await subscribe();
    const eventId = await publish();
    await attempted(eventId, 1);
    mail.behave({});
    gateway.moveClock(MINUTE_MS);
    const first = await ended(eventId);
    const [failed, taken] = first.attempts.map(({ record }) => (record as { message_id: string }).message_id);
    expect(taken).toBe(failed);
    expect(mail.mails[0]?.headers.get("message-id")).toBe(taken);
    await gateway.post(`/api/v1/events/${eventId}/replay`, {});
    await mail.received(2);
    expect(mail.mails[1]?.headers.get("message-id")).not.toBe(taken);
    expect(mail.mails[1]?.headers.get("message-id")).toMatch(/^<[0-9a-f]{40}\.2@example\.com>$/);
  });

  const RECIPIENTS = { ...DESTINATION, to: ["a@example.com", "b@example.com", "c@example.com"] };

  it("tries again only for those whom the server put off, and names those whom it rejected", async () => {
    await start();
    mail.behave({ recipients: { "b@example.com": 450, "c@example.com": 550 } });
    await subscribe(RECIPIENTS);
    const eventId = await publish();
    await mail.received(1);
    await attempted(eventId, 1);
    mail.behave({});
    await gateway.restart();
    gateway.moveClock(MINUTE_MS);
    const delivery = await ended(eventId);
    expect(mail.mails.map(({ to }) => to)).toEqual([["a@example.com"], ["b@example.com"]]);
    expect(delivery.status).toBe("delivered");
    expect(delivery.attempts[0]).toMatchObject({ result: "failed", error: expect.stringContaining("b@example.com") });
    expect(delivery.attempts[1]?.["record"]).toMatchObject({
      accepted: ["a@example.com", "b@example.com"],
      refused: [{ address: "c@example.com", answer: "550 as it was told" }],
      deferred: [],
    });
  });

  it("would mail all of them again without what was kept of the first try (control)", async () => {
    const forgetful: KindWithSender = {
      ...EMAIL,
      open(services) {
        const sender = SENDERS.email(services);
        const send: typeof sender.send = (attempts, done) =>
          sender.send(
            attempts.map((attempt) => ({ ...attempt, earlier: undefined })),
            done,
          );
        return { ...sender, send };
      },
    };
    await start({ destinationKinds: [forgetful] });
    mail.behave({ recipients: { "b@example.com": 450 } });
    await subscribe(RECIPIENTS);
    const eventId = await publish();
    await attempted(eventId, 1);
    mail.behave({});
    gateway.moveClock(MINUTE_MS);
    await ended(eventId);
    expect(mail.mails.map(({ to }) => to.includes("a@example.com"))).toEqual([true, true]);
  });

  it("is delivered with a warning when some are rejected for good, and rejected when all are", async () => {
    share();
    mail.behave({ recipients: { "c@example.com": 550 } });
    await subscribe(RECIPIENTS);
    const delivery = await ended(await publish());
    expect(delivery).toMatchObject({
      status: "delivered",
      last_error: "refused for c@example.com (550 as it was told); the others have it",
    });
    mail.behave({ recipients: { "a@example.com": 550, "b@example.com": 551, "c@example.com": 550 } });
    const dead = await ended(await publish());
    expect(dead).toMatchObject({ status: "dead", dead_reason: "refused", attempt_count: 1 });
    expect(dead["last_error"]).toMatch(/^the SMTP server refuses all recipients: 5/);
  });

  it("is a dead letter with a reason when the server rejects the sender or the message", async () => {
    share();
    await subscribe();
    mail.behave({ sender: 553 });
    expect(await ended(await publish())).toMatchObject({
      status: "dead",
      dead_reason: "refused",
      last_error: "the SMTP server refuses the sender: 553 as it was told",
    });
    mail.behave({ message: 554 });
    expect(await ended(await publish())).toMatchObject({
      status: "dead",
      last_error: "the SMTP server refuses the message: 554 as it was told",
    });
  });

  it("is tried again when the connection is lost in the message, rejected, or never greeted", async () => {
    share();
    const delays = Array.from({ length: 6 }, () => 60);
    await subscribe(DESTINATION, { timeout: 60, retry_policy: { delays_s: delays }, rate_limit: null });
    mail.behave({ message: "drop" });
    const eventId = await publish();
    await attempted(eventId, 1);
    mail.behave({ greeting: 421 });
    gateway.moveClock(2 * MINUTE_MS);
    await attempted(eventId, 2);
    mail.behave({ greeting: "hang" });
    gateway.moveClock(2 * MINUTE_MS);
    await gateway.moveClockUntil(async () => (await gateway.deliveryOf(eventId)).attempt_count >= 3);
    mail.behave({});
    gateway.moveClock(30 * MINUTE_MS);
    const { attempts, status } = await ended(eventId);
    expect(status).toBe("delivered");
    expect(attempts.slice(0, 3).map(({ result }) => result)).toEqual([
      "connection_error",
      "connection_error",
      "timeout",
    ]);
  });

  it("goes on with another connection when the server has closed one that was idle", async () => {
    await start();
    await subscribe();
    await ended(await publish());
    mail.dropConnections();
    const { attempt_count: count, status } = await ended(await publish());
    expect([status, count, mail.accepted]).toEqual(["delivered", 1, 2]);
  });

  it("uses one connection for many messages, up to the limit of each", async () => {
    await start({ env: { SMTP_MESSAGES_PER_CONNECTION: 2, SMTP_MAX_CONNECTIONS: 1 } });
    await subscribe();
    for (let n = 0; n < 4; n++) await ended(await publish());
    expect([mail.mails.length, mail.accepted]).toEqual([4, 2]);
  });

  it("lets no line break of an event into a header: the delivery says why", async () => {
    share();
    await subscribe({ ...DESTINATION, subject: "Order of {{ data.who }}", to: "{{ data.to }}" });
    const evil = "x\r\nBcc: victim@example.com";
    const subject = await ended(await publish({ who: evil, to: "a@example.com" }));
    expect(subject).toMatchObject({ status: "dead", dead_reason: "refused" });
    expect(subject["last_error"]).toMatch(/subject produces a header with a control character \(U\+000D\)/);
    const address = await ended(await publish({ who: "x", to: `a@example.com\nBcc: victim@example.com` }));
    expect(address["last_error"]).toMatch(/^to produces a header with a control character/);
    // Several addresses in one text are none.
    const several = await ended(await publish({ who: "x", to: "a@example.com, victim@example.com" }));
    expect(several["last_error"]).toMatch(/is not an e-mail address/);
    const none = await ended(await publish({ who: "x" }));
    expect(none["last_error"]).toBe("to: there is no recipient");
    expect(mail.mails).toEqual([]);
  });
});

describe("notification.email", () => {
  const PAYLOAD = { to: "a@example.com", subject: "Hello", text: "Hi", html: "<b>Hi</b>" };

  it("sends nothing without a subscription that an operator has made", async () => {
    share();
    const eventId = await publish(PAYLOAD, "notification.email");
    expect(await gateway.event(eventId)).toMatchObject({ status: "COMPLETED", unmatched: true });
    expect(mail.mails).toEqual([]);
  });

  // shows: C15
  it("takes recipient and texts of the payload where an operator says so", async () => {
    share();
    await subscribe({ fields_from: "payload" }, { events: ["notification.email"] });
    expect((await ended(await publish(PAYLOAD, "notification.email"))).status).toBe("delivered");
    expect(mail.mails[0]?.to).toEqual(["a@example.com"]);
    expect(mail.mails[0]?.headers.get("subject")).toBe("Hello");
    const list = { ...PAYLOAD, to: ["b@example.com", "C <c@example.com>"] };
    expect((await ended(await publish(list, "notification.email"))).status).toBe("delivered");
    expect(mail.mails[1]?.to).toEqual(["b@example.com", "c@example.com"]);
  });

  it.each([
    ["no recipient", { to: undefined }, "payload: `to` must be an address or a list of addresses"],
    ["what is no address", { to: "somebody" }, 'to: "somebody" is not an e-mail address'],
    ["an address with a line break", { to: "a@example.com\r\nRCPT TO:<v@example.com>" }, "has a line break"],
    ["a subject with a line break", { subject: "Hi\r\nBcc: v@example.com" }, "subject: has a line break"],
    ["no text at all", { text: undefined, html: undefined }, "text: there is neither text nor html"],
    ["too much text", { html: "ü".repeat(300_000) }, "html: has more than"],
    ["too many recipients", { to: Array.from({ length: 51 }, (_, n) => `u${n}@example.com`) }, "the maximum is 50"],
  ])("turns %s into a dead letter that says so", async (_, wrong, reason) => {
    share();
    await subscribe({ fields_from: "payload" }, { events: ["notification.email"] });
    const dead = await ended(await publish({ ...PAYLOAD, ...wrong }, "notification.email"));
    expect(dead).toMatchObject({ status: "dead", dead_reason: "refused", attempt_count: 1 });
    expect(dead["last_error"]).toContain(reason);
    expect(mail.mails).toEqual([]);
  });

  it("is not for keys that are bound to a tenant, and neither is e-mail unless that is allowed", async () => {
    await start();
    const input = { name: "own", kind: "email", events: ["order.*"], destination: DESTINATION };
    const byPayload = { ...input, destination: { fields_from: "payload" } };
    const bound = gateway.as(await gateway.createKey(["admin"], "acme"));
    expect((await bound.post("/api/v1/subscriptions", input)).status).toBe(403);
    await gateway.restart({ env: { SMTP_URL: mail.url, SMTP_FROM: "shop@example.com", SMTP_ALLOW_TENANTS: true } });
    const made = await bound.post("/api/v1/subscriptions", input);
    expect(made.status).toBe(201);
    expect((await bound.post("/api/v1/subscriptions", byPayload)).status).toBe(403);
    const change = { destination: { fields_from: "payload", to: null, subject: null, text: null } };
    const path = `/api/v1/subscriptions/${String(made.json["id"])}`;
    const patch = (client: typeof bound) =>
      client.request("PATCH", path, { body: JSON.stringify(change), headers: { "content-type": "application/json" } });
    expect((await patch(bound)).status).toBe(403);
    // The control: the operator may, and from then on the tenant may not change it.
    expect((await patch(gateway)).status).toBe(200);
    expect((await bound.request("DELETE", path)).status).toBe(403);
  });
});

describe("settings of the kind email", () => {
  it.each([
    ["an address", { to: "nobody" }, "destination.to"],
    ["one of several addresses", { to: ["a@example.com", "b@"] }, "destination.to"],
    ["an address with a header in it", { cc: "a@example.com\r\nBcc: b@example.com" }, "destination.cc"],
    ["a subject of two lines", { subject: "one\ntwo" }, "destination.subject"],
    ["neither text nor html", { text: null }, "destination.text"],
    ["an unknown filter", { text: "{{ data.x | shout }}" }, "destination.text"],
    ["what no template knows", { subject: "{{ dta.x }}" }, "destination.subject"],
    ["a page to leave by that is none", { list_unsubscribe: "javascript:alert(1)" }, "destination.list_unsubscribe"],
    ["fields twice", { fields_from: "payload" }, "destination.to"],
    ["an unknown setting", { attachments: [] }, "destination.attachments"],
  ])("rejects %s with 422 and names the field", async (_, wrong, field) => {
    share();
    const destination = { ...DESTINATION, ...wrong };
    const input = { name: "mail", kind: "email", events: ["order.*"], destination };
    const { status, json } = await gateway.post("/api/v1/subscriptions", input);
    expect([status, json["field"]]).toEqual([422, field]);
  });

  it("names the way to take a mail from the payload where no address is given", async () => {
    share();
    const input = { name: "mail", kind: "email", events: ["notification.email"], destination: {} };
    const { status, json } = await gateway.post("/api/v1/subscriptions", input);
    expect([status, json["field"]]).toEqual([422, "destination.to"]);
    expect(json["detail"]).toContain("`fields_from: payload`");
  });

  it("rejects the kind while no server is configured, and says which settings are missing", async () => {
    gateway = await startTestGateway();
    closing.push(() => gateway.close());
    const input = { name: "mail", kind: "email", events: ["order.*"], destination: DESTINATION };
    const { status, json } = await gateway.post("/api/v1/subscriptions", input);
    expect([status, json["field"]]).toEqual([422, "kind"]);
    expect(json["detail"]).toContain("POSTHORN_SMTP_URL");
  });
});

describe("the way to the SMTP server", () => {
  const login = { user: "shop", password: "s3cret&word" };
  const writeCa = () => {
    const path = join(gateway.dataDir, "ca.pem");
    writeFileSync(path, TEST_CA);
    return path;
  };

  it.each(["upgrade", "immediate"] as const)(
    "logs in over TLS (%s), and trusts only what it is told to",
    async (tls) => {
      await start({ server: { tls, login } });
      const env = { SMTP_URL: mail.url, SMTP_FROM: "shop@example.com", SMTP_TLS: "required" };
      await subscribe();
      await gateway.restart({ env });
      const eventId = await publish();
      await attempted(eventId, 1);
      const [untrusted] = (await gateway.deliveryOf(eventId)).attempts;
      expect(untrusted?.["error"]).toMatch(/certificate/);
      await gateway.restart({ env: { ...env, SMTP_CA_FILE: writeCa() } });
      gateway.moveClock(10 * MINUTE_MS);
      await ended(eventId);
      expect(mail.mails[0]).toMatchObject({ user: "shop", isSecure: true });
      expect(gateway.logText()).not.toContain("s3cret");
    },
  );

  it("sends nothing, and no password, to a server that offers no TLS where it is required", async () => {
    await start({ server: { login }, env: { SMTP_TLS: "required" } });
    await subscribe();
    const eventId = await publish();
    await attempted(eventId, 1);
    const [attempt] = (await gateway.deliveryOf(eventId)).attempts;
    expect(attempt).toMatchObject({ result: "connection_error", error: expect.stringContaining("no TLS") as string });
    expect(mail.mails).toEqual([]);
  });

  it("tries again when the login is rejected", async () => {
    await start({ server: { login } });
    await gateway.restart({
      env: { SMTP_URL: mail.url.replace("s3cret", "wrong"), SMTP_FROM: "shop@example.com" },
    });
    await subscribe();
    const eventId = await publish();
    await attempted(eventId, 1);
    const { status, attempts } = await gateway.deliveryOf(eventId);
    expect([status, attempts[0]?.["error"]]).toEqual([
      "pending",
      expect.stringMatching(/^the SMTP server refuses the login: 535/) as string,
    ]);
  });

  it("signs with DKIM where a key is configured", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    await start({ env: { SMTP_DKIM_DOMAIN: "example.com", SMTP_DKIM_SELECTOR: "mail", SMTP_DKIM_KEY: key } });
    await subscribe();
    await publish();
    const [received] = await mail.received(1);
    const { raw = "", headers } = received ?? {};
    const signature = headers?.get("dkim-signature") ?? "";
    expect(signature).toContain("d=example.com");
    const pem = publicKey.export({ type: "spki", format: "pem" }) as string;
    expect(verifyDkim(raw, signature, pem)).toBe(true);
    expect(verifyDkim(raw.replace("An order", "No order"), signature, pem)).toBe(false);
  });

  it("waits for the rate of its tenant, over all of its subscriptions, and counts no try for it", async () => {
    await start({ env: { SMTP_TENANT_RATE: 1 } });
    await subscribe();
    await subscribe({ ...DESTINATION, to: "second@example.com" }, { name: "second" });
    const go = gateway.holdClock();
    await publish();
    await mail.received(1);
    await until(async () => (await gateway.deliveries("status=delivered")).length === 1);
    expect((await gateway.deliveries()).filter(({ status }) => status !== "delivered")).toHaveLength(1);
    expect(mail.mails).toHaveLength(1);
    gateway.moveClock(MINUTE_MS);
    await mail.received(2);
    go();
    await gateway.settled();
    expect((await gateway.deliveries()).map(({ attempt_count: count }) => count)).toEqual([1, 1]);
  });
});

/** RFC 6376, relaxed/relaxed, as far as these messages need it. */
function verifyDkim(raw: string, signature: string, publicKey: string): boolean {
  const tags = new Map(
    signature.split(";").map((tag) => {
      const [name = "", ...value] = tag.trim().split("=");
      return [name, value.join("=").replaceAll(/\s/g, "")];
    }),
  );
  const [head = ""] = raw.split("\r\n\r\n", 1);
  const fields = head.replaceAll(/\r\n[ \t]+/g, " ").split("\r\n");
  const relaxed = (field: string) => {
    const at = field.indexOf(":");
    return `${field.slice(0, at).toLowerCase()}:${field
      .slice(at + 1)
      .replaceAll(/\s+/g, " ")
      .trim()}`;
  };
  const signed = (tags.get("h") ?? "").split(":").map((name) => {
    const field = fields.find((one) => one.toLowerCase().startsWith(`${name.toLowerCase()}:`));
    return field === undefined ? undefined : relaxed(field);
  });
  const own = relaxed(`DKIM-Signature: ${signature}`).replace(/b=[^;]*$/, "b=");
  const text = [...signed.filter((one) => one !== undefined), own].join("\r\n");
  return createVerify("sha256")
    .update(text)
    .verify(createPublicKey(publicKey), tags.get("b") ?? "", "base64");
}
