-- Tenants become records. Those that nobody has configured have the format 0: no registry holds them in memory.
update meta set value = value + 1 where key = 'record_version';
insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
select 'tenant', '', id, (select value from meta where key = 'record_version'), 1,
  json_patch(
    json_object('name', name, 'status', status, 'managedBy', managed_by, 'retention', json(coalesce(retention, '{}')),
      -- What is null is left out.
      'quotas', json_patch('{}', json_object('subscriptions', max_subscriptions,
        'eventsPerMinute', max_events_per_minute, 'openDeliveries', max_open_deliveries,
        'storedBytes', max_stored_bytes))),
    json_object('contactEmail', contact_email)),
  created_at, updated_at
from tenants order by id;
update records set format = 0, data = '{}'
where kind = 'tenant' and data = json_object('name', id, 'status', 'active', 'managedBy', 'api', 'retention', json('{}'),
    'quotas', json('{}'))
  -- Whoever made it by a request may send that again.
  and id not in (select made_id from idempotency_keys where scope = 'tenants');
drop table tenants;
