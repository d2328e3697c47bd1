-- Subscriptions become records, under the numbers that deliveries, counters and replays know them by. Deleted ones are
-- tombstones: their deliveries are still shown with their id.
update meta set value = value + 1 where key = 'record_version';
insert into records (seq, kind, tenant_id, id, version, format, data, blob, created_at, updated_at, deleted_at)
select seq, 'subscription', tenant_id, id, (select value from meta where key = 'record_version'), 1,
  iif(deleted_at is null, json_object('name', name, 'status', status, 'settings', json(settings),
    'managedBy', managed_by, 'createdBy', created_by, 'heldSince', held_since), null),
  iif(deleted_at is null, secrets, null), created_at, coalesce(deleted_at, updated_at), deleted_at
from subscriptions order by seq;
insert into record_states (seq, state)
select seq, breaker from subscriptions where breaker is not null and deleted_at is null;
drop table subscriptions;
