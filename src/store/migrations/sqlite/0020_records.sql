-- Everything users configure, as versioned records under one sequence of versions. What is deleted stays as a tombstone.
create table records (
  -- Deliveries refer to a subscription by it: never given to another record.
  seq integer primary key autoincrement,
  kind text not null,
  -- Empty where the kind belongs to the whole gateway.
  tenant_id text not null,
  id text not null,
  -- Of the write that last changed it; several records that one write changed have the same.
  version integer not null,
  format integer not null,
  -- JSON; null in a tombstone.
  data text,
  blob blob,
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create unique index records_by_key on records (kind, tenant_id, id);
create index records_by_version on records (version);

-- What changes by itself and is not configuration: it moves no version.
create table record_states (
  seq integer primary key,
  state text not null
) strict;

insert into meta (key, value) values ('record_version', 0);
-- Subscriptions keep their numbers when they become records: all others come after these.
insert into sqlite_sequence (name, seq)
select 'records', coalesce((select seq from sqlite_sequence where name = 'subscriptions'), 0);
