-- Event types become records.
update meta set value = value + 1 where key = 'record_version';
insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
select 'event_type', '', name, (select value from meta where key = 'record_version'), 1,
  json_set(settings, '$.managedBy', managed_by), created_at, updated_at
from event_types order by name;
drop table event_types;
