-- Of a request that held several events, each one that was known already has a line of its own.
drop view event_log;
create view event_log as
select e.id as event_id, e.source, e.type as event_type,
  case
    when e.fan_out_cursor is not null then 'PENDING'
    when exists (select 1 from deliveries d where d.event_seq = e.seq and d.state < 2) then 'PENDING'
    when exists (select 1 from deliveries d where d.event_seq = e.seq and d.state = 3) then 'FAILED'
    else 'COMPLETED'
  end as status,
  strftime('%Y-%m-%dT%H:%M:%fZ', e.received_at / 1000.0, 'unixepoch') as received_at,
  case
    when e.fan_out_cursor is not null
      or exists (select 1 from deliveries d where d.event_seq = e.seq and d.state < 2) then null
    else strftime('%Y-%m-%dT%H:%M:%fZ',
      coalesce((select max(d.completed_at) from deliveries d where d.event_seq = e.seq), e.published_at) / 1000.0,
      'unixepoch')
  end as completed_at
from events e
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
