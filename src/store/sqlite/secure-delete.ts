import type { Database } from "./connection.ts";

const MODES = ["off", "on", "fast"];

/** What is deleted meanwhile is overwritten, where else its bytes would stay in the file until something needs the room. */
export function createSecureDelete(db: Database): <Result>(work: () => Result) => Result {
  const { secure_delete: usual } = db.prepare("pragma secure_delete").get() as { secure_delete: number };
  return (work) => {
    db.exec("pragma secure_delete = on");
    try {
      return work();
    } finally {
      db.exec(`pragma secure_delete = ${MODES[usual] ?? "off"}`);
    }
  };
}
