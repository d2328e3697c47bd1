import {
  startSmartsheetServer,
  type SheetEvent,
  type SmartsheetServer,
} from "../../../test/support/smartsheet-server.ts";
import type { Story } from "../../support/example.ts";

/** People who work in the two sheets of the manifest. */
export interface Workspace {
  readonly smartsheet: SmartsheetServer;
  /** Changes that were made so far. */
  readonly changes: number;
  /** Several changes in a sheet, of which Smartsheet tells in one callback. Resolves when that was answered. */
  change(sheet: Sheet, events: readonly SheetEvent[]): Promise<void>;
  /** A change of each row in each of the sheets, in callbacks of their own; told in one line. */
  changeEach(sheets: readonly Sheet[], rows: readonly string[]): Promise<void>;
}

export type Sheet = keyof typeof SHEETS;
export const SHEETS = { "Purchase orders": "4509506114742148", Tags: "6141831453927300" } as const;

/** As the service has it, apart from https: it calls the gateway on this machine. Its retries come within seconds. */
export async function openWorkspace({ world, sent, answered }: Story): Promise<Workspace> {
  const smartsheet = await world.own(
    "Smartsheet test server",
    startSmartsheetServer({ allowHttpCallbacks: true, timeFactor: 500 }),
    (opened) => opened.close(),
  );
  let changes = 0;

  async function call(told: string, make: () => void): Promise<void> {
    sent(told);
    const before = smartsheet.callbacks.length;
    make();
    await smartsheet.idle();
    const statuses = smartsheet.callbacks.slice(before).map(({ status }) => status ?? "no answer");
    answered(statuses.join(", "));
  }

  return {
    smartsheet,
    get changes() {
      return changes;
    },
    change(sheet, events) {
      changes += events.length;
      const told = `callback, ${sheet}: ${events.map(describe).join(", ")}`;
      return call(told, () => smartsheet.change(SHEETS[sheet], events));
    },
    changeEach(sheets, rows) {
      changes += sheets.length * rows.length;
      const told = `${sheets.length * rows.length} callbacks, ${sheets.join(" and ")}: rows ${rows.join(", ")}`;
      return call(told, () => {
        for (const id of rows) for (const sheet of sheets) smartsheet.change(SHEETS[sheet], [row(id)]);
      });
    },
  };
}

const describe = ({ objectType, eventType, id, changeAgent }: SheetEvent) =>
  `${objectType}${id === undefined ? "" : ` ${id}`} ${eventType}${changeAgent === undefined ? "" : ` by ${changeAgent}`}`;

let seconds = 0;
/** Each in a second of its own, which is all that Smartsheet's times tell apart. */
export const row = (id: string, eventType = "updated"): SheetEvent => ({
  objectType: "row",
  eventType,
  id,
  timestamp: new Date(Date.UTC(2026, 0, 5, 9, 0, seconds++)).toISOString().replace(".000Z", ".000+0000"),
});

export const cell = (rowId: string): SheetEvent => ({
  objectType: "cell",
  eventType: "updated",
  rowId,
  columnId: "7",
});
