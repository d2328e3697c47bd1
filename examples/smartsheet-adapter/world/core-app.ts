import { openSinkServer } from "../../../test/support/sink-server.ts";
import type { Story } from "../../support/example.ts";

/** The app that wants to know of changes: `POST /api/events`, and `GET /api/health`. */
export interface CoreApp {
  readonly url: string;
  /** What it took, in the order of its coming. */
  taken(): readonly TakenChange[];
  /** While it is down it answers 503, also when it is asked how it is. */
  isDown: boolean;
  /** A row that it cannot work with: 400. */
  refusedRow: string | undefined;
}

export interface TakenChange {
  event_id: string;
  sheet_id: string;
  row_id: string;
  action: string;
}

export async function openCoreApp({ world }: Story): Promise<CoreApp> {
  const sink = await world.own("core app", openSinkServer(), (opened) => opened.close());
  const taken: TakenChange[] = [];
  const app: CoreApp = {
    url: `http://127.0.0.1:${sink.port}`,
    taken: () => taken,
    isDown: false,
    refusedRow: undefined,
  };
  sink.answerWith(({ path, body }) => {
    if (app.isDown) return { status: 503 };
    if (path === "/api/health") return { status: 200, body: '{"status":"ok"}' };
    const change = JSON.parse(body.toString("utf8")) as TakenChange;
    if (change.row_id === app.refusedRow) return { status: 400, body: "unknown row" };
    taken.push(change);
    return { status: 200 };
  });
  return app;
}

export const rowsOf = (app: CoreApp, sheetId: string) =>
  app
    .taken()
    .filter((change) => change.sheet_id === sheetId)
    .map((change) => change.row_id);
