-- Smartsheet's own webhooks that were registered for a source. Ids are digits, as Smartsheet writes them.
create table smartsheet_webhooks (
  source text not null,
  webhook_id text not null,
  sheet_id text not null,
  -- Sealed.
  secrets blob not null,
  status text not null,
  created_at integer not null,
  updated_at integer not null,
  primary key (source, webhook_id)
) strict, without rowid;
