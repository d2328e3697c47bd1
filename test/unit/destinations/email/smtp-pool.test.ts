import { describe, expect, it, onTestFinished } from "vitest";
import { openSmtpPool, type SmtpPool } from "../../../../src/destinations/email/smtp-pool.ts";
import { readSmtpConfig } from "../../../../src/destinations/email/sender.ts";
import { createSystemClock } from "../../../../src/model/clock.ts";
import { openMailServer, type MailServer } from "../../../support/mail-server.ts";
import { SMTP_CONFIG } from "../../../support/smtp-config.ts";

async function open(): Promise<{ pool: SmtpPool; server: MailServer }> {
  const server = await openMailServer();
  const settings = readSmtpConfig({ ...SMTP_CONFIG, url: server.url, maxConnections: 1 }) as NonNullable<
    ReturnType<typeof readSmtpConfig>
  >;
  const pool = openSmtpPool({ ...settings, clock: createSystemClock() });
  onTestFinished(async () => {
    pool.close();
    await server.close();
  });
  return { pool, server };
}

function send(pool: SmtpPool, to: string) {
  const envelope = { from: "gateway@example.com", to: [to] };
  return pool.send({ owner: "acme", envelope, message: Buffer.from("Subject: x\r\n\r\nx\r\n") }, () => undefined);
}

const recipientsOf = ({ mails }: MailServer) => mails.flatMap(({ to }) => to);

describe("an e-mail that is given up", () => {
  it("is not sent after the connection is made", async () => {
    const { pool, server } = await open();
    send(pool, "early@example.com").giveUp();
    send(pool, "next@example.com");
    await server.received(1);
    expect(recipientsOf(server)).toEqual(["next@example.com"]);
  });

  it("is not sent when its turn comes", async () => {
    const { pool, server } = await open();
    send(pool, "first@example.com");
    send(pool, "waiting@example.com").giveUp();
    send(pool, "next@example.com");
    await server.received(2);
    expect(recipientsOf(server)).toEqual(["first@example.com", "next@example.com"]);
  });
});
