-- What is older than it is to be kept goes. The counters stay totals of all times; what of them was deleted is counted
-- beside them, so that they can still be compared with the rows.
alter table counters add column pruned_delivered integer not null default 0;
alter table counters add column pruned_dead integer not null default 0;
alter table counters add column pruned_cancelled integer not null default 0;
alter table event_counters add column pruned integer not null default 0;

-- JSON; null where the gateway's own settings hold.
alter table tenants add column retention text;

-- What is left of an event that was deleted while its id is still to be known. The rows of `dedupe` stay with it.
create table known_ids (
  event_seq integer primary key,
  id text not null,
  tenant_id text not null,
  dedupe_key blob not null,
  received_at integer not null
) strict;
