-- What a search may skip: of each 1,024 events, when they came, and a filter of what they can be found by. Written once,
-- with the last event of the block. A block without a row is read event by event.
create table event_blocks (
  -- What an event is found by goes, by a hash of it, to one of several filters, so that a search reads little.
  segment integer not null,
  block integer not null,
  min_received_at integer not null,
  max_received_at integer not null,
  -- Whether the filters hold all labels of the events.
  has_all_labels integer not null check (has_all_labels in (0, 1)),
  filter blob not null,
  primary key (segment, block)
) strict, without rowid;

-- The same of 16 blocks in a row, packed, so that a search over everything reads few rows.
create table event_block_groups (
  segment integer not null,
  block_group integer not null,
  blocks blob not null,
  primary key (segment, block_group)
) strict, without rowid;
