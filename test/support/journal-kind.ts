import { appendFile } from "node:fs";
import { isAbsolute } from "node:path";
import { Type, type Static } from "typebox";
import { DELIVERED, failed } from "../../src/model/outcome.ts";
import { keepOwnRecord, presentOwnRecord } from "../../src/destinations/own-record.ts";
import { secretSettings } from "../../src/destinations/secret-settings.ts";
import type { Attempt, DestinationKind } from "../../src/destinations/sender.ts";

const JournalSettings = Type.Object({ path: Type.String({ maxLength: 1024 }) }, { additionalProperties: false });
type JournalSettings = Static<typeof JournalSettings>;

/** Appends each event to a file; a batch is one write. */
export const JOURNAL: DestinationKind<JournalSettings> = {
  name: "journal",
  settings: JournalSettings,
  check: ({ path }) => (isAbsolute(path) ? [] : [{ field: "path", message: "must be an absolute path" }]),
  prepare: (settings) => ({ destination: settings, place: `file:${settings.path}` }),
  secrets: secretSettings<JournalSettings>([], ["path"]),
  present: ({ path }) => ({ path }),
  presentRecord: presentOwnRecord,
  open: ({ clock }) => ({
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
  }),
};
