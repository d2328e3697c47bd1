import { appendFile } from "node:fs";
import { DELIVERED, failed } from "../../../src/model/outcome.ts";
import { keepOwnRecord } from "../../../src/destinations/own-record.ts";
import type { Attempt, Sender, SenderServices } from "../../../src/destinations/sender.ts";
import type { JournalSettings } from "./settings.ts";

export function openJournalSender({ clock }: SenderServices): Sender<JournalSettings> {
  return {
    limitsOf: () => ({ maxBatch: 100, lingerMs: 50 }),
    send(attempts, done) {
      const [startedAt, startedNow] = [clock.wall(), clock.now()];
      const [first] = attempts as [Attempt];
      const { path } = first.subscription.destination as JournalSettings;
      const lines = attempts.map(({ event }) => `${event.id} ${Buffer.from(event.body).toString("base64")}\n`);
      appendFile(path, lines.join(""), (error) => {
        const outcome = error === null ? DELIVERED : failed(error.message);
        const record = keepOwnRecord(`file:${path}`, { lines: lines.length });
        done(attempts.map(() => ({ outcome, startedAt, durationMs: clock.now() - startedNow, record })));
      });
    },
    close: () => Promise.resolve(),
  };
}
