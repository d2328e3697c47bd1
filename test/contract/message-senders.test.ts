import { beforeAll } from "vitest";
import { openHttpClient } from "../../src/destinations/wire/http-client.ts";
import { createAddressGuard } from "../../src/destinations/wire/address-guard.ts";
import { EMAIL } from "../../src/destinations/email/settings.ts";
import { SENDERS } from "../../src/destinations/senders.ts";
import { SMS } from "../../src/destinations/sms/settings.ts";
import { createSystemClock } from "../../src/model/clock.ts";
import { openMailServer, type MailBehaviour } from "../support/mail-server.ts";
import { senderServices } from "../support/sender-services.ts";
import { openSinkServer, type SinkScript } from "../support/sink-server.ts";
import { SMTP_CONFIG } from "../support/smtp-config.ts";
import { SECRET, senderContract, type FarEnd } from "./sender-contract.ts";

/** The first message would wait for them: on a busy machine, for longer than an attempt has here. */
beforeAll(async () => {
  await import("nodemailer/lib/smtp-connection");
  await import("nodemailer/lib/mail-composer");
  await import("libphonenumber-js/min");
});

const MAIL: Record<FarEnd, MailBehaviour> = {
  takes: {},
  refuses: { message: 554 },
  fails: { message: 451 },
  "is down": { greeting: 421 },
  "is gone": {},
  hangs: { message: "hang" },
};

senderContract("email", {
  kind: EMAIL,
  outcomes: {
    takes: "delivered",
    refuses: "refused",
    fails: "failed",
    "is down": "failed",
    "is gone": { never: "a mailbox that is gone is refused, and others may be there" },
  },
  noSecrets: "the password of the SMTP server is a setting of the gateway",
  async open() {
    const server = await openMailServer({ login: { user: "posthorn", password: SECRET } });
    const sender = SENDERS.email(
      senderServices({ clock: createSystemClock(), smtp: { ...SMTP_CONFIG, url: server.url } }),
    );
    return {
      sender,
      place: "ops@example.com",
      farEnd: (does) => server.behave(MAIL[does]),
      pass: () => Promise.resolve(),
      async close() {
        await sender.close();
        await server.close();
      },
    };
  },
  settings: ({ place }) => ({ to: place, subject: "Something happened", text: "Look." }),
  settingsElsewhere: () => ({ to: "elsewhere@example.com", subject: "Something happened", text: "Look." }),
});

const ANSWERS: Record<FarEnd, SinkScript> = {
  takes: { status: 201, body: JSON.stringify({ sid: "SM1", status: "queued", error_code: null, num_segments: "1" }) },
  refuses: {
    status: 400,
    body: JSON.stringify({ code: 21_211, message: "The 'To' number is not valid", status: 400 }),
  },
  fails: { status: 503, body: JSON.stringify({ code: 20_503, message: "unavailable" }) },
  "is down": "reset",
  "is gone": { status: 410 },
  hangs: "hang",
};

senderContract("sms", {
  kind: SMS,
  outcomes: { takes: "delivered", refuses: "refused", fails: "failed", "is down": "failed", "is gone": "gone" },
  async open() {
    const clock = createSystemClock();
    const guard = createAddressGuard({ allowPrivate: ["127.0.0.0/8"] });
    const client = openHttpClient({ guard, allowHttp: true, clock });
    const sink = await openSinkServer();
    const sender = SENDERS.sms(senderServices({ clock, client }));
    return {
      sender,
      place: sink.url,
      farEnd: (does) => sink.answerWith(ANSWERS[does]),
      pass: () => Promise.resolve(),
      async close() {
        await sender.close();
        await client.close();
        await sink.close();
      },
    };
  },
  settings: ({ place }) => ({
    gateway: "twilio",
    url: place,
    account_sid: "AC0001",
    auth_token: SECRET,
    from: "+15005550006",
    to: "+491511234567",
    text: "Look.",
  }),
  settingsElsewhere: () => ({
    gateway: "twilio",
    url: "https://elsewhere.example",
    account_sid: "AC0001",
    auth_token: SECRET,
    from: "+15005550006",
    to: "+491511234567",
    text: "Look.",
  }),
});
