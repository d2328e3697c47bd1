-- Generated ids grow with time, like sequence numbers: so not each needs a row of its own to be found by. There is one for
-- the first of each 128 sequence numbers, and one for each id that is out of order (the clock was set back).
create table event_id_marks (
  id text primary key,
  event_seq integer not null
) strict, without rowid;

create table stray_event_ids (
  id text primary key,
  event_seq integer not null
) strict, without rowid;

-- Those whose sequence number is higher than that of every lower id are in order.
insert or ignore into stray_event_ids (id, event_seq)
select id, seq from (
  select id, seq, max(seq) over (order by id rows between unbounded preceding and 1 preceding) as before
  from events where given_id = 0)
where seq < before;

insert or ignore into event_id_marks (id, event_seq)
select id, seq from (
  select id, seq, max(seq) over (order by id rows between unbounded preceding and 1 preceding) as before
  from events where given_id = 0)
where before is null or (seq > before and seq / 128 > before / 128);

drop index events_by_id;
