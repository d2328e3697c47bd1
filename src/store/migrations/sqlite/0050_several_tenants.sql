-- Events that only an operator's subscription for several tenants got; for their own tenants they are unmatched.
alter table counters add column operators_only integer not null default 0;

-- For people and reports. What is readable of `settings` has no credentials, and the secrets are not read here.
create view webhook_subscription as
select s.id, s.tenant_id, s.data ->> '$.name' as name,
  coalesce(s.data ->> '$.settings.kind', 'http') as kind,
  s.data ->> '$.settings.url' as url,
  s.data ->> '$.settings.events' as events,
  s.data ->> '$.settings.event_filter' as event_filter,
  s.data ->> '$.settings.tenants' as tenants,
  case coalesce(s.data ->> '$.settings.kind', 'http')
    when 'http' then coalesce(s.data ->> '$.settings.signature_header', 'X-Webhook-Signature')
  end as signature_header,
  s.data ->> '$.status' as status,
  s.data ->> '$.settings.retry_count' as retry_count,
  s.data ->> '$.settings.retry_interval' as retry_interval,
  coalesce(s.data ->> '$.settings.timeout', 30) as timeout,
  s.data ->> '$.settings.rate_limit' as rate_limit,
  s.data ->> '$.settings.description' as description,
  s.data ->> '$.createdBy' as created_by,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1000.0, 'unixepoch') as created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', s.updated_at / 1000.0, 'unixepoch') as updated_at,
  coalesce(c.attempts, 0) as delivery_count,
  coalesce(c.attempts - c.failures, 0) as success_count,
  coalesce(c.failures, 0) as failure_count,
  strftime('%Y-%m-%dT%H:%M:%fZ', c.last_attempt_at / 1000.0, 'unixepoch') as last_delivery
from records s left join counters c on c.tenant_id = s.tenant_id and c.subscription_seq = s.seq
where s.kind = 'subscription' and s.deleted_at is null;
