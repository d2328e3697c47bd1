-- Keys become records of their tenants; of none, where they are bound to none.
update meta set value = value + 1 where key = 'record_version';
insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
select 'key', coalesce(tenant_id, ''), id, (select value from meta where key = 'record_version'), 1,
  json_patch(
    json_object('hash', lower(hex(hash)), 'name', name, 'scopes', json('["' || replace(scopes, ' ', '","') || '"]')),
    -- What is null is left out.
    json_object('expiresAt', expires_at, 'revokedAt', revoked_at, 'prefix', prefix)),
  created_at, coalesce(revoked_at, created_at)
-- Bound to a tenant that cannot be: it allowed nothing, and must not become one that is bound to none.
from keys where tenant_id is not '' order by id;
drop table keys;
