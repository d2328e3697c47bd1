import { openMailServer, type MailServer } from "../../../test/support/mail-server.ts";
import { openSinkServer, type SinkServer } from "../../../test/support/sink-server.ts";
import type { Story } from "../../support/example.ts";

/** What takes the dairy's messages beside the partners. */
export interface Services {
  mail: MailServer;
  sms: SinkServer;
  analytics: SinkServer;
  /** Rows that the analytics pipeline has, by the ids of their events. */
  rows(): readonly string[];
}

export async function openServices({ world }: Story): Promise<Services> {
  const close = (opened: { close(): Promise<void> }) => opened.close();
  const mail = await world.own("mailbox", openMailServer(), close);
  const answer = { status: 200, body: '{"status":"ok"}' };
  const sms = await world.own("SMS gateway", openSinkServer({ answer }), close);
  const analytics = await world.own("analytics", openSinkServer(), close);
  return {
    mail,
    sms,
    analytics,
    rows: () =>
      analytics.requests.flatMap(({ body }) =>
        body
          .toString("utf8")
          .trimEnd()
          .split("\n")
          .map((line) => (JSON.parse(line) as { event_id: string }).event_id),
      ),
  };
}
