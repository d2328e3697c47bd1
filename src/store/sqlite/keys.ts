import { PosthornError } from "../../domain/errors.ts";
import type { KeyRow } from "../store.ts";
import type { Database } from "./connection.ts";

export function createKeyWrites(db: Database) {
  const find = db.prepare("select tenant_id, expires_at, revoked_at from keys where id = ?");
  const countOthers = db.prepare(`
    select count(*) as count from keys
    where id <> ?1 and tenant_id is null and ' ' || scopes || ' ' like '% admin %'
      and revoked_at is null and (expires_at is null or expires_at > ?2)`);
  const isAdmin = db.prepare(`
    select 1 from keys where id = ?1 and tenant_id is null and ' ' || scopes || ' ' like '% admin %'
      and revoked_at is null and (expires_at is null or expires_at > ?2)`);
  const revoke = db.prepare("update keys set revoked_at = ? where id = ? and revoked_at is null");

  const update = db.prepare("update keys set name = ?, scopes = ?, expires_at = ? where id = ?");

  function getRow(id: string): KeySql {
    const row = find.get(id) as KeySql | undefined;
    if (row === undefined) throw new PosthornError("not_found", `There is no key ${id}.`);
    return row;
  }

  function refuseLastAdmin(id: string, at: number): void {
    if (isAdmin.get(id, at) === undefined || (countOthers.get(id, at) as { count: number }).count > 0) return;
    throw new PosthornError(
      "conflict",
      "This is the last admin key that is bound to no tenant. Make another one first, or set POSTHORN_ADMIN_KEY.",
    );
  }

  return {
    revokeKey(id: string, at: number, { keepLastAdmin }: { keepLastAdmin: boolean }): void {
      getRow(id);
      if (keepLastAdmin) refuseLastAdmin(id, at);
      revoke.run(at, id);
    },

    updateKey(
      id: string,
      { name, scopes, expiresAt }: Pick<KeyRow, "name" | "scopes" | "expiresAt">,
      at: number,
      { keepLastAdmin }: { keepLastAdmin: boolean },
    ): void {
      const row = getRow(id);
      if (row.revoked_at !== null) throw new PosthornError("conflict", `The key ${id} is revoked, for good.`);
      const endsEarlier = (expiresAt ?? Infinity) < (row.expires_at ?? Infinity);
      const staysAdmin = scopes.split(" ").includes("admin") && !endsEarlier;
      if (keepLastAdmin && !staysAdmin) refuseLastAdmin(id, at);
      update.run(name, scopes, expiresAt ?? null, id);
    },
  };
}

interface KeySql {
  tenant_id: string | null;
  expires_at: number | null;
  revoked_at: number | null;
}
