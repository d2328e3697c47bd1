-- What the pipeline needs: the event log, deliveries with their attempts, and the configuration they run by.
-- Times are unix milliseconds. Enumerations are the positions in the lists of src/domain.

create table meta (
  key text primary key,
  value any
) strict, without rowid;

create table events (
  seq integer primary key,
  id text not null,
  given_id integer not null check (given_id in (0, 1)),
  type text not null,
  version text not null,
  source text not null,
  tenant_id text not null,
  priority integer not null check (priority between 0 and 3),
  origin integer not null check (origin in (0, 1)),
  occurred_at integer not null,
  received_at integer not null,
  published_at integer not null,
  -- From when it may be delivered, in scheduling time.
  due_at integer not null,
  expires_at integer,
  ordering_key text,
  -- Bytes, because it holds NUL: as text it would be cut there.
  dedupe_key blob,
  content_type text,
  request text,
  details text,
  delivery_count integer not null,
  -- The last subscription that deliveries were made for, while the fan-out is not complete.
  fan_out_cursor integer,
  size integer not null,
  -- Null when the body is large and stands in `bodies`, or was erased.
  body blob
) strict;

-- Generated ids grow with time, so this index is only appended to; ids given by senders are found through `dedupe`.
create index events_by_id on events (id) where given_id = 0;
create index events_fanning_out on events (seq) where fan_out_cursor is not null;

create table bodies (
  event_seq integer primary key,
  body blob not null
) strict;

-- The one random index per event, and only where the sender gave an id: a keyed 62-bit hash of the dedupe key. The
-- full key in the event's row decides.
create table dedupe (
  hash integer primary key,
  event_seq integer not null
) strict;

create table deliveries (
  event_seq integer not null,
  subscription_seq integer not null,
  state integer not null check (state between 0 and 4),
  -- Whether it was made for an ordered subscription: opened again, it goes back into the queue of its ordering key.
  ordered integer not null check (ordered in (0, 1)),
  generation integer not null,
  attempt_count integer not null,
  -- Attempts that the retry schedule does not count: earlier generations, and crashes of the gateway itself.
  uncounted_attempts integer not null,
  recoveries integer not null,
  next_trigger integer not null,
  next_attempt_at integer,
  -- Place in the lane. Null when it may not go: it is terminal, or another of its ordering key is ahead of it.
  rank integer,
  -- Set while it stands in the queue of its ordering key (ordered subscriptions only).
  queued_key text,
  expires_at integer,
  created_at integer not null,
  completed_at integer,
  dead_reason text,
  last_error text,
  primary key (event_seq, subscription_seq)
) strict, without rowid;

-- What waits, by lane; and what is being sent, by event: a thousand deliveries of one event lie on a few pages there.
create index lanes on deliveries (subscription_seq, rank, next_attempt_at) where state = 0 and rank is not null;
create index sending on deliveries (event_seq, subscription_seq) where state = 1;
create index key_queues on deliveries (subscription_seq, queued_key, event_seq) where queued_key is not null;
create index dead_letters on deliveries (completed_at, event_seq, subscription_seq) where state = 3;
create index expiring on deliveries (expires_at) where expires_at is not null and state < 2;

create table attempts (
  event_seq integer not null,
  subscription_seq integer not null,
  number integer not null,
  started_at integer not null,
  duration_ms integer not null,
  result integer not null,
  cause integer not null,
  url text,
  address text,
  request_headers text,
  response_code integer,
  response_headers text,
  response_body blob,
  error text,
  primary key (event_seq, subscription_seq, number)
) strict, without rowid;

-- Only requests that made no event: refused, ignored, duplicate. A ring per source bounds it.
create table requests (
  seq integer primary key,
  id text not null,
  ring text not null,
  source text not null,
  received_at integer not null,
  facts text not null,
  outcome integer not null,
  cause text not null,
  event_id text,
  size integer not null,
  body blob
) strict;
create index requests_by_id on requests (id);
create index requests_by_ring on requests (ring, seq);

create table subscriptions (
  seq integer primary key autoincrement,
  id text not null unique,
  tenant_id text not null,
  name text not null,
  status text not null,
  settings text not null,
  -- Encrypted; the store never sees it in clear.
  secrets blob not null,
  managed_by text not null,
  breaker text,
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create unique index subscriptions_by_name on subscriptions (tenant_id, name) where deleted_at is null;

create table sources (
  name text primary key,
  settings text not null,
  managed_by text not null,
  updated_at integer not null
) strict, without rowid;

create table keys (
  id text primary key,
  hash blob not null unique,
  name text not null,
  scopes text not null,
  tenant_id text,
  created_at integer not null,
  expires_at integer,
  revoked_at integer
) strict, without rowid;

-- Counted in the same transaction as what they count: a count over millions of rows takes a second.
create table counters (
  subscription_seq integer primary key,
  tenant_id text not null,
  created integer not null default 0,
  delivered integer not null default 0,
  dead integer not null default 0,
  cancelled integer not null default 0,
  attempts integer not null default 0,
  failures integer not null default 0,
  last_attempt_at integer
) strict;

create table event_counters (
  tenant_id text primary key,
  accepted integer not null default 0,
  unmatched integer not null default 0,
  duplicates integer not null default 0
) strict, without rowid;

-- For people and reports: one line per event id that was ever received, by the names of the adapter's specification.
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
from requests r where r.outcome = 2;
