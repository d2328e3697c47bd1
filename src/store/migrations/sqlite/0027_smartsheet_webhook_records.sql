-- Smartsheet's webhooks become records, their sealed secrets beside the rest.
update meta set value = value + 1 where key = 'record_version';
insert into records (kind, tenant_id, id, version, format, data, blob, created_at, updated_at)
select 'smartsheet_webhook', '', source || '/' || webhook_id, (select value from meta where key = 'record_version'), 1,
  json_object('source', source, 'webhookId', webhook_id, 'sheetId', sheet_id, 'status', status), secrets, created_at,
  updated_at
from smartsheet_webhooks order by source, created_at, webhook_id;
drop table smartsheet_webhooks;
