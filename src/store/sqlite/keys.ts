import { PosthornError } from "../../domain/errors.ts";
import type { Database } from "./connection.ts";

export function createKeyWrites(db: Database) {
  const find = db.prepare("select tenant_id, revoked_at from keys where id = ?");
  const countOthers = db.prepare(`
    select count(*) as count from keys
    where id <> ?1 and tenant_id is null and ' ' || scopes || ' ' like '% admin %'
      and revoked_at is null and (expires_at is null or expires_at > ?2)`);
  const isAdmin = db.prepare(`
    select 1 from keys where id = ?1 and tenant_id is null and ' ' || scopes || ' ' like '% admin %'
      and revoked_at is null and (expires_at is null or expires_at > ?2)`);
  const revoke = db.prepare("update keys set revoked_at = ? where id = ? and revoked_at is null");

  return {
    revokeKey(id: string, at: number, { keepLastAdmin }: { keepLastAdmin: boolean }): void {
      if (find.get(id) === undefined) throw new PosthornError("not_found", `There is no key ${id}.`);
      if (keepLastAdmin && isAdmin.get(id, at) !== undefined) {
        const { count } = countOthers.get(id, at) as { count: number };
        if (count === 0) {
          throw new PosthornError(
            "conflict",
            "This is the last admin key that is bound to no tenant. Make another one first, or set POSTHORN_ADMIN_KEY.",
          );
        }
      }
      revoke.run(at, id);
    },
  };
}
