-- Events that this gateway has put into a queue and taken from there again, each with the one that it was at first. Only
-- these have a row: nothing else costs more than before.
create table returned_events (
  event_seq integer primary key,
  origin_seq integer not null,
  -- The queue that it was taken from.
  place text not null,
  -- Of its message; `taken_messages` knows a later one.
  generation integer not null
) strict;
create index returned_events_by_origin on returned_events (origin_seq);

-- The same as before, but that an event which came back has no line of its own: the one that it was at first has its
-- status, and is PENDING while it is in a queue that this gateway takes from (`own: take`).
drop view event_log;
create view event_log as
with
  -- Which subscriptions put events into such a queue.
  own_queues as materialized (
    select s.seq as subscription_seq, q.place
    from (select data ->> '$.ownQueue' as place from records where kind = 'source' and deleted_at is null) q
      join records s on s.kind = 'subscription' and s.deleted_at is null
        and q.place = (s.data ->> '$.settings.kind') || ':'
          || coalesce(s.data ->> '$.settings.destination.connection', 'default') || ':queue:'
          || (s.data ->> '$.settings.destination.queue')
  ),
  stand as (
    select e.seq, e.id, e.source, e.type, e.received_at, e.published_at,
      e.fan_out_cursor is not null
        or exists (select 1 from deliveries d where d.event_seq = e.seq and d.state < 2)
        or exists (
          select 1 from returned_events r join events h on h.seq = r.event_seq
          where r.origin_seq = e.seq and (
            h.fan_out_cursor is not null
            or exists (select 1 from deliveries d where d.event_seq = h.seq and d.state < 2)))
        -- It was put into a queue, and has not come back from there.
        or exists (
          select 1 from own_queues q join deliveries d on d.subscription_seq = q.subscription_seq
          where d.event_seq in (select e.seq union all select r.event_seq from returned_events r where r.origin_seq = e.seq)
            and d.state = 2 and not exists (
              select 1 from returned_events r left join taken_messages t on t.event_seq = r.event_seq
              where r.origin_seq = e.seq and r.place = q.place
                and max(r.generation, coalesce(t.generation, 1)) >= d.generation))
        as is_open
    from events e
    where not exists (
      select 1 from returned_events r join events o on o.seq = r.origin_seq where r.event_seq = e.seq)
  )
select s.id as event_id, s.source, s.type as event_type,
  case
    when s.is_open then 'PENDING'
    when exists (select 1 from deliveries d where d.event_seq = s.seq and d.state = 3)
      or exists (
        select 1 from returned_events r join deliveries d on d.event_seq = r.event_seq
        where r.origin_seq = s.seq and d.state = 3) then 'FAILED'
    else 'COMPLETED'
  end as status,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.received_at / 1000.0, 'unixepoch') as received_at,
  case
    when s.is_open then null
    else strftime('%Y-%m-%dT%H:%M:%fZ',
      coalesce(
        (select max(d.completed_at) from returned_events r join deliveries d on d.event_seq = r.event_seq
          where r.origin_seq = s.seq),
        (select max(d.completed_at) from deliveries d where d.event_seq = s.seq),
        s.published_at) / 1000.0,
      'unixepoch')
  end as completed_at
from stand s
union all
select coalesce(r.event_id, r.id), r.source, null,
  case r.cause when 'duplicate' then 'DUPLICATE' else 'IGNORED' end,
  strftime('%Y-%m-%dT%H:%M:%fZ', r.received_at / 1000.0, 'unixepoch'), null
from requests r
where r.outcome = 2
  and not exists (select 1 from json_each(r.parts) p where p.value ->> 'cause' = 'duplicate')
union all
select p.value ->> 'event_id', r.source, null, 'DUPLICATE',
  strftime('%Y-%m-%dT%H:%M:%fZ', r.received_at / 1000.0, 'unixepoch'), null
from requests r join json_each(r.parts) p
where r.outcome = 2 and p.value ->> 'cause' = 'duplicate';
