-- What a search may skip: of each 1,024 events, when they came, and a filter of what they can be found by. Written once,
-- with the last event of the block. A block without a row is read event by event.
create table event_blocks (
  block integer primary key,
  min_received_at integer not null,
  max_received_at integer not null,
  -- A Bloom filter of types, sources, tenants, ids, ordering keys and labels.
  filter blob not null
) strict;

-- Costs nothing until something dies.
create index dead_events on deliveries (event_seq) where state = 3;
