-- Who did what. Each entry's hash covers the entry and the hash before it.
create table audit (
  seq integer primary key,
  -- Canonical JSON of all that is hashed; the hash of `data` is part of it.
  entry text not null,
  -- Canonical JSON of what was changed; null where there is nothing to say, or where it was erased.
  data text,
  hash text not null
) strict;

create index audit_of_thing on audit (entry ->> '$.kind', entry ->> '$.id', seq);
create index audit_of_tenant on audit (entry ->> '$.tenant_id', seq);
create index audit_of_actor on audit (entry ->> '$.actor', seq);
create index audit_of_act on audit (entry ->> '$.act', seq);

-- `head`: the last entry, signed. `checkpoint`: the last one of those that were deleted because they were old.
create table audit_marks (
  name text primary key,
  seq integer not null,
  hash text not null,
  at integer not null,
  signature text not null
) strict, without rowid;
