-- Generated ids grow with time, like sequence numbers: so not each needs a row of its own to be found by. There is a mark
-- at the first of each 128 sequence numbers, and a row for each id that is out of order (the clock was set back).
create table event_id_marks (
  id text primary key,
  event_seq integer not null
) strict, without rowid;

create table event_ids (
  id text primary key,
  event_seq integer not null
) strict, without rowid;

-- Those from before have a row each, as they had in the index. Copied in its order, that takes seconds for millions.
insert or ignore into event_ids (id, event_seq) select id, seq from events where given_id = 0 order by id;

drop index events_by_id;
