import { PosthornError } from "../../domain/errors.ts";
import type { IdempotencyMark } from "../port/idempotency.ts";
import type { KeyRow } from "../store.ts";
import type { Database } from "./connection.ts";
import { createMarkWrite } from "./idempotency-keys.ts";
import { createTenantBirth } from "./tenants.ts";

const LIVE = "revoked_at is null and (expires_at is null or expires_at > ?2)";

export function createKeyWrites(db: Database) {
  const insert = db.prepare(`
    insert into keys (id, hash, name, scopes, tenant_id, created_at, expires_at, revoked_at, prefix)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (id) do nothing`);
  const countLive = db.prepare(`select count(*) as count from keys where tenant_id is ?1 and ${LIVE}`);
  const prune = db.prepare(`
    delete from keys where tenant_id is ?1 and not (${LIVE}) and id not in (
      select id from keys where tenant_id is ?1 and not (${LIVE})
      order by coalesce(revoked_at, expires_at) desc limit ?3)
    returning id`);
  const giveBirth = createTenantBirth(db);
  const writeMark = createMarkWrite(db);
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

  /** Those that live are counted; of those that do not, as many are kept to be looked up. */
  function makeRoom({ tenantId = null, createdAt }: KeyOwner, maxKeys: number): string[] {
    const { count } = countLive.get(tenantId, createdAt) as { count: number };
    if (count >= maxKeys) {
      const owner = tenantId === null ? "There are" : `The tenant ${tenantId} has`;
      throw new PosthornError(
        "key_limit",
        `${owner} ${count} live keys${tenantId === null ? " that are bound to no tenant" : ""}, and ${maxKeys} are ` +
          "allowed. Revoke one, or raise limits.max_keys_per_tenant.",
        { details: { limit: maxKeys, used: count } },
      );
    }
    return (prune.all(tenantId, createdAt, maxKeys) as { id: string }[]).map(({ id }) => id);
  }

  return {
    insertKey(row: KeyRow, mark?: IdempotencyMark, maxKeys?: number): string[] {
      writeMark(mark);
      const pruned = maxKeys === undefined ? [] : makeRoom(row, maxKeys);
      if (row.tenantId !== undefined) giveBirth(row.tenantId, row.createdAt);
      const { changes } = insert.run(
        row.id,
        row.hash,
        row.name,
        row.scopes,
        row.tenantId ?? null,
        row.createdAt,
        row.expiresAt ?? null,
        row.revokedAt ?? null,
        row.prefix ?? null,
      );
      if (changes === 0) throw new PosthornError("conflict", `The id ${row.id} is taken. Choose another.`);
      return pruned;
    },

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

interface KeyOwner {
  tenantId?: string | null | undefined;
  createdAt: number;
}

export function createKeyReads(db: Database) {
  return {
    loadKeys(): KeyRow[] {
      return (db.prepare("select * from keys").all() as unknown as KeySql[]).map(fromSql);
    },

    findKey(by: { id: string } | { hash: Uint8Array }): KeyRow | undefined {
      const found =
        "id" in by
          ? db.prepare("select * from keys where id = ?").get(by.id)
          : db.prepare("select * from keys where hash = ?").get(by.hash);
      const row = found as unknown as KeySql | undefined;
      // The driver cuts text at NUL: what it found may be another one.
      return row === undefined || ("id" in by && row.id !== by.id) ? undefined : fromSql(row);
    },
  };
}

function fromSql(row: KeySql): KeyRow {
  return {
    id: row.id,
    hash: row.hash,
    name: row.name,
    scopes: row.scopes,
    tenantId: row.tenant_id ?? undefined,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    prefix: row.prefix ?? undefined,
  };
}

interface KeySql {
  id: string;
  hash: Uint8Array;
  name: string;
  scopes: string;
  tenant_id: string | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  prefix: string | null;
}
