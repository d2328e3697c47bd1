-- Sources become records. Their names are one for the whole gateway: whose one is stands in its settings.
update meta set value = value + 1 where key = 'record_version';
insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
select 'source', '', name, (select value from meta where key = 'record_version'), 1,
  json_set(json_remove(settings, '$.name'), '$.managedBy', managed_by), coalesce(created_at, updated_at), updated_at
from sources order by name;
insert into record_states (seq, state)
select r.seq, json_object('lastRequestAt', s.last_request_at)
from sources s join records r on r.kind = 'source' and r.tenant_id = '' and r.id = s.name
where s.last_request_at is not null;
drop table sources;
