import { isAbsolute } from "node:path";
import { Type, type Static } from "typebox";
import type { DestinationKind } from "../../../src/destinations/destination-kind.ts";
import { presentOwnRecord } from "../../../src/destinations/own-record.ts";
import { secretSettings } from "../../../src/destinations/secret-settings.ts";

const JournalSettings = Type.Object({ path: Type.String({ maxLength: 1024 }) }, { additionalProperties: false });
export type JournalSettings = Static<typeof JournalSettings>;

/** Appends each event to a file; a batch is one write. */
export const JOURNAL: DestinationKind<JournalSettings> = {
  name: "journal",
  settings: JournalSettings,
  check: ({ path }) => (isAbsolute(path) ? [] : [{ field: "path", message: "must be an absolute path" }]),
  prepare: (settings) => ({ destination: settings, place: `file:${settings.path}` }),
  secrets: secretSettings<JournalSettings>([], ["path"]),
  present: ({ path }) => ({ path }),
  presentRecord: presentOwnRecord,
};
