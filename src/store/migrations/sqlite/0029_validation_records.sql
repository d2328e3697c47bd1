-- Every version of the records whose kind keeps them, deletions too. A series has one sequence of numbers, for however
-- many records.
create table record_versions (
  kind text not null,
  tenant_id text not null,
  series text not null,
  number integer not null,
  id text not null,
  format integer not null,
  is_deleted integer not null check (is_deleted in (0, 1)),
  -- JSON, also of a deletion.
  data text not null,
  blob blob,
  -- JSON; what changes by itself.
  state text,
  created_at integer not null,
  primary key (kind, tenant_id, series, number)
) strict;

-- Validations become records: what is in force is one, and every version is kept beside.
update meta set value = value + 1 where key = 'record_version';
insert into record_versions (kind, tenant_id, series, number, id, format, is_deleted, data, blob, state, created_at)
select 'validation', '', endpoint, version, endpoint || '.' || format, 1, document is null,
  json_patch('{}', json_object('version', version, 'hash', hash, 'restoredFrom', restored_from, 'createdBy', created_by)),
  document, iif(is_mirrored = 1, json_object('mirrored', version), null), created_at
from validation_versions;
insert into records (kind, tenant_id, id, version, format, data, blob, created_at, updated_at)
select kind, tenant_id, id, (select value from meta where key = 'record_version'), format, data, blob, created_at,
  created_at
from record_versions v
where is_deleted = 0 and number = (
  select max(number) from record_versions
  where kind = v.kind and tenant_id = v.tenant_id and series = v.series and id = v.id)
order by series, id;
insert into record_states (seq, state)
select r.seq, v.state from records r
-- The name of an endpoint has no dot.
join record_versions v on v.kind = r.kind and v.tenant_id = r.tenant_id
  and v.series = substr(r.id, 1, instr(r.id, '.') - 1) and v.number = json_extract(r.data, '$.version')
where r.kind = 'validation' and v.state is not null;
drop table validation_versions;
