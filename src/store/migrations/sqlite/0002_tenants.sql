-- Tenants with their quotas; what is needed to enforce them; and what people recognise a key by.

create table tenants (
  id text primary key,
  name text not null,
  contact_email text,
  status text not null,
  -- Null where there is no limit.
  max_subscriptions integer,
  max_events_per_minute integer,
  max_open_deliveries integer,
  max_stored_bytes integer,
  managed_by text not null,
  created_at integer not null,
  updated_at integer not null
) strict, without rowid;

alter table event_counters add column stored_bytes integer not null default 0;
update event_counters set stored_bytes = summed.bytes
from (select tenant_id, sum(size) as bytes from events group by tenant_id) as summed
where summed.tenant_id = event_counters.tenant_id;

-- The beginning of the key in clear; null for keys that were made before.
alter table keys add column prefix text;

-- Whose source it was when the request came: a source that changes its owner does not take them along.
alter table requests add column tenant_id text not null default 'default';
update requests set tenant_id = coalesce(json_extract(s.settings, '$.tenant_id'), 'default')
from sources s where s.name = requests.source;

-- A tenant is there as soon as something bears its id.
insert into tenants (id, name, status, managed_by, created_at, updated_at)
select id, id, 'active', 'api', unixepoch() * 1000, unixepoch() * 1000
from (
  select 'default' as id
  union select tenant_id from event_counters
  union select tenant_id from subscriptions where deleted_at is null
  union select tenant_id from keys where tenant_id is not null
);
