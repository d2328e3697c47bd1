-- What attempts came to, by minute and by hour. Time comes first: what is written at one time lies together, and what
-- is old goes from one end.
create table attempt_stats (
  -- 1 or 60.
  span_minutes integer not null,
  -- Unix minutes: when the span begins.
  at integer not null,
  -- 0 for the whole gateway.
  subscription_seq integer not null,
  attempts integer not null,
  failures integer not null,
  -- A packed histogram of how long they took.
  latencies blob not null,
  primary key (span_minutes, at, subscription_seq)
) strict, without rowid;

-- The id of the key that made it; null when it is older than this column.
alter table subscriptions add column created_by text;

-- Which requests with an Idempotency-Key have made what.
create table idempotency_keys (
  -- What kind of thing, and for whom.
  scope text not null,
  key text not null,
  -- Of the request: the same key with another request is a mistake.
  fingerprint text not null,
  made_id text not null,
  made_at integer not null,
  primary key (scope, key)
) strict, without rowid;
create index idempotency_keys_by_age on idempotency_keys (made_at);
