-- Work on many deliveries at once. Its cursor and its counts move in the transaction that changes the deliveries.
create table replays (
  seq integer primary key,
  id text not null unique,
  -- Whose deliveries it is about; null when it goes over all tenants.
  tenant_id text,
  kind text not null,
  status text not null,
  -- JSON, as it was asked for.
  filter text not null,
  subscription_seq integer,
  -- Set when the lane of a deleted subscription is cancelled: then it has no cursor, what is left is what is to do.
  lane_seq integer,
  -- Only events after the one and up to the other: what comes in later is none of its business.
  after_seq integer not null,
  up_to_seq integer not null,
  -- JSON of its runner.
  cursor text not null,
  total integer not null,
  total_is_exact integer not null check (total_is_exact in (0, 1)),
  done integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  error text,
  created_at integer not null,
  started_at integer not null,
  completed_at integer
) strict;
create index replays_by_tenant on replays (tenant_id, seq);

-- Dead letters of one subscription for those who look, and by event for those who walk over all of them.
create index dead_letters_by_subscription on deliveries (subscription_seq, completed_at, event_seq) where state = 3;
create index dead_letters_by_event on deliveries (event_seq, subscription_seq) where state = 3;
-- What was opened again and has not been tried since: so many at once and no more.
create index replays_open on deliveries (subscription_seq, state, next_trigger) where state < 2 and next_trigger = 3;
