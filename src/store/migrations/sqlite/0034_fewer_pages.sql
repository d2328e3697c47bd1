-- Fewer pages for each commit.
--
-- What is counted of a tenant's events and of its subscriptions' deliveries changes together: so it lies together.
alter table counters rename to old_counters;
create table counters (
  tenant_id text not null,
  -- 0: what is counted of the tenant's events.
  subscription_seq integer not null,
  accepted integer not null default 0,
  unmatched integer not null default 0,
  duplicates integer not null default 0,
  stored_bytes integer not null default 0,
  pruned integer not null default 0,
  created integer not null default 0,
  delivered integer not null default 0,
  dead integer not null default 0,
  cancelled integer not null default 0,
  attempts integer not null default 0,
  failures integer not null default 0,
  last_attempt_at integer,
  pruned_delivered integer not null default 0,
  pruned_dead integer not null default 0,
  pruned_cancelled integer not null default 0,
  primary key (tenant_id, subscription_seq)
) strict, without rowid;

insert into counters (tenant_id, subscription_seq, accepted, unmatched, duplicates, stored_bytes, pruned)
select tenant_id, 0, accepted, unmatched, duplicates, stored_bytes, pruned from event_counters;
insert into counters (tenant_id, subscription_seq, created, delivered, dead, cancelled, attempts, failures,
  last_attempt_at, pruned_delivered, pruned_dead, pruned_cancelled)
select coalesce((select r.tenant_id from records r where r.seq = c.subscription_seq), ''), c.subscription_seq, c.created,
  c.delivered, c.dead, c.cancelled, c.attempts, c.failures, c.last_attempt_at, c.pruned_delivered, c.pruned_dead,
  c.pruned_cancelled
from old_counters c;
drop table old_counters;
drop table event_counters;

-- What is being sent needs a row in an index only where the walk over the newest deliveries has passed it already.
-- Every other has a rank as all that may go have, so that its row need not grow when it ends.
alter table deliveries add column listed integer not null default 0;
update deliveries set listed = 1 where state = 1 and rank is not null;
update deliveries set rank = next_attempt_at + (
  select case e.priority when 0 then 0 when 1 then 1000 when 2 then 5000 else 60000 end from events e
  where e.seq = deliveries.event_seq)
where state = 1 and rank is null and event_seq >= (select value from meta where key = 'born_sending_from');
drop index sending;
create index sending on deliveries (event_seq, subscription_seq) where state = 1 and listed = 1;
update meta set key = 'sending_from' where key = 'born_sending_from';
