-- Shared targets become records; the mode of each is not configuration and moves no version.
update meta set value = value + 1 where key = 'record_version';
insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
select 'target', tenant_id, name, (select value from meta where key = 'record_version'), 1,
  json_object('settings', json_remove(settings, '$.name', '$.tenant_id'), 'managedBy', managed_by),
  updated_at, updated_at
from targets order by tenant_id, name;
insert into record_states (seq, state)
select r.seq, t.mode from targets t join records r on r.kind = 'target' and r.tenant_id = t.tenant_id and r.id = t.name
where t.mode is not null;
drop table targets;
