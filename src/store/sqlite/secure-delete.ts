import type { Database } from "./connection.ts";

const MODES = ["off", "on", "fast"];

/**
 * While `work` runs, deleted data is overwritten; otherwise its bytes would stay in the file until the space is reused.
 */
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
