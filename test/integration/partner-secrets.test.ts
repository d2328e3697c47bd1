import { randomBytes } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import { officialsAccept } from "../support/official-verifiers.ts";
import { openSinkServer, type SinkRequest } from "../support/sink-server.ts";
import { startTestGateway } from "../support/test-gateway.ts";
import { verifyPlain } from "../support/verify-signature.ts";

/** As Python's `secrets` makes them, and what somebody typed. */
const SECRETS = {
  "token_hex(32)": randomBytes(32).toString("hex"),
  "token_urlsafe(32)": randomBytes(32).toString("base64url"),
  "a sentence": "correct horse battery staple",
  "not ASCII": "ключ партнёра 😀😀😀",
  "the longest": "x".repeat(128),
};

async function open() {
  const [gateway, sink] = await Promise.all([startTestGateway(), openSinkServer()]);
  onTestFinished(() => Promise.all([gateway.close(), sink.close()]).then(() => undefined));
  const deliver = async (): Promise<SinkRequest> => {
    const count = sink.requests.length;
    await gateway.publish({ event_type: "order.created", payload: { total: 1 } });
    const request = (await sink.received(count + 1))[count];
    if (request === undefined) throw new Error("nothing has come");
    return request;
  };
  return { gateway, sink, deliver };
}

/** Standard Webhooks' library, told that the secret is not base64. */
function isGenuine(secret: string, { body, headers }: SinkRequest): boolean {
  const pick = (name: string) => String(headers[name]);
  const trio = Object.fromEntries(
    ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, pick(name)]),
  );
  try {
    new StandardWebhook(Buffer.from(secret, "utf8"), { format: "raw" }).verify(body.toString(), trio);
    return true;
  } catch {
    return false;
  }
}

describe("a secret that a partner has already", () => {
  // shows: C29, C36
  it("signs by both schemes, however it was made, and after a restart, too", async () => {
    const { gateway, sink } = await open();
    for (const [name, secret] of Object.entries(SECRETS)) {
      const url = `${sink.url}?${encodeURIComponent(name)}`;
      const created = await gateway.post("/api/v1/subscriptions", { name, url, events: ["*"], secret });
      expect([name, created.status, created.json["secret"]]).toEqual([name, 201, secret]);
    }
    const expectGenuine = async (round: number) => {
      await gateway.publish({ event_type: "order.created", payload: { round } });
      const count = Object.keys(SECRETS).length;
      const received = (await sink.received(round * count)).slice((round - 1) * count);
      for (const [name, secret] of Object.entries(SECRETS)) {
        const own = received.find(({ path }) => path.endsWith(`?${encodeURIComponent(name)}`));
        if (own === undefined) throw new Error(`nothing has come for ${name}`);
        expect(own.headers["x-webhook-signature"]).toBe(verifyPlain(secret, own.body));
        expect([name, isGenuine(secret, own)]).toEqual([name, true]);
        // The same key for a library that takes nothing but base64.
        expect(officialsAccept(`whsec_${Buffer.from(secret, "utf8").toString("base64")}`, own)).toBe(true);
        expect(isGenuine(`${secret}.`, own)).toBe(false);
      }
    };
    await expectGenuine(1);
    await gateway.restart();
    await expectGenuine(2);
  });

  it("is brought in by a rotation, beside the one before it", async () => {
    const { gateway, sink, deliver } = await open();
    const { id, secret: old } = await gateway.subscribe({ name: "p", url: sink.url });
    const next = SECRETS["token_hex(32)"];
    const rotated = await gateway.post(`/api/v1/subscriptions/${id}/rotate-secret`, { secret: next });
    expect([rotated.status, rotated.json["secret"]]).toEqual([200, next]);
    const received = await deliver();
    expect([officialsAccept(old, received), isGenuine(next, received)]).toEqual([true, true]);
    expect(received.headers["x-webhook-signature"]).toBe(verifyPlain(old, received.body));
    expect(received.headers["x-webhook-signature-next"]).toBe(verifyPlain(next, received.body));
  });

  it("is rejected when it is too short, too long, not printable or no secret at all, and never repeated", async () => {
    const { gateway, sink } = await open();
    for (const secret of [
      "x".repeat(15),
      "x".repeat(129),
      "tab\tbetween the words",
      "nul\0between the words",
      `whsec_${SECRETS["token_urlsafe(32)"]}-`,
      `whpk_${"A".repeat(44)}`,
    ]) {
      const { status, json, text } = await gateway.post("/api/v1/subscriptions", {
        name: "p",
        url: sink.url,
        events: ["*"],
        secret,
      });
      expect([secret, status, json["field"]]).toEqual([secret, 422, "secret"]);
      expect(text).not.toContain(JSON.stringify(secret).slice(1, -1));
    }
  });

  it("may stand in the configuration file", async () => {
    const { gateway, sink, deliver } = await open();
    const secret = SECRETS["token_urlsafe(32)"];
    await gateway.reload(
      `subscriptions:\n  - {name: partner, url: "${sink.url}", events: ["*"], secret: "${secret}"}\n`,
    );
    expect(isGenuine(secret, await deliver())).toBe(true);
    expect(gateway.logText()).not.toContain(secret);
  });
});
