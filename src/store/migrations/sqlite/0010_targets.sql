-- Targets that several subscriptions share: what the configuration says of each, and the mode it is in.
create table targets (
  tenant_id text not null,
  name text not null,
  settings text not null,
  managed_by text not null,
  -- JSON; null before its mode first changed.
  mode text,
  updated_at integer not null,
  primary key (tenant_id, name)
) strict, without rowid;
