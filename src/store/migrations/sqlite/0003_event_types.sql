-- The registry of event types: one row for each, with all of its versions, so that a change is seen whole or not at all.

create table event_types (
  name text primary key,
  settings text not null,
  managed_by text not null,
  created_at integer not null,
  updated_at integer not null
) strict, without rowid;
