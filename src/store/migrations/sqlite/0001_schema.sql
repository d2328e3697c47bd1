-- All that a gateway keeps. Times are unix milliseconds. Enumerations are the positions in the lists of src/model.

-- Single values: versions, marks, keys of the store itself.
create table meta (
  key text primary key,
  value any
) strict, without rowid;

-- Configuration

-- Everything users configure, as versioned records under one sequence of versions. What is deleted stays as a tombstone.
create table records (
  -- Deliveries refer to a subscription by it: never given to another record.
  seq integer primary key autoincrement,
  kind text not null,
  -- Empty where the kind belongs to the whole gateway.
  tenant_id text not null,
  id text not null,
  -- Of the write that last changed it; several records that one write changed have the same.
  version integer not null,
  -- 0: a tenant that nobody has configured; no registry holds it in memory.
  format integer not null,
  -- JSON; null in a tombstone.
  data text,
  blob blob,
  created_at integer not null,
  updated_at integer not null,
  deleted_at integer
) strict;
create unique index records_by_key on records (kind, tenant_id, id);
create index records_by_version on records (version);

-- What changes by itself and is not configuration: it changes no version.
create table record_states (
  seq integer primary key,
  state text not null
) strict;

-- Every version of the records whose kind keeps them, deletions too. The numbers of a series may be of several records.
create table record_versions (
  kind text not null,
  tenant_id text not null,
  series text not null,
  number integer not null,
  id text not null,
  format integer not null,
  is_deleted integer not null check (is_deleted in (0, 1)),
  -- JSON, also of a deletion.
  data text not null,
  blob blob,
  -- JSON; what changes by itself.
  state text,
  created_at integer not null,
  primary key (kind, tenant_id, series, number)
) strict;

-- Which requests with an Idempotency-Key have created what.
create table idempotency_keys (
  -- The kind of object, and for whom.
  scope text not null,
  key text not null,
  -- Of the request: the same key with another request is a mistake.
  fingerprint text not null,
  made_id text not null,
  made_at integer not null,
  primary key (scope, key)
) strict, without rowid;
create index idempotency_keys_by_age on idempotency_keys (made_at);

-- Events

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
  -- Null when the body is large and stored in `bodies`, or was erased.
  body blob,
  -- When somebody had the body erased, in wall time.
  erased_at integer,
  -- Of what a delivery sends.
  checksum integer not null
) strict;
create index events_fanning_out on events (seq) where fan_out_cursor is not null;

-- Bodies that are too large for the event's row.
create table bodies (
  event_seq integer primary key,
  body blob not null,
  checksum integer not null
) strict;

-- The one random index per event, and only where the sender gave an id: a keyed hash. The key in the event's row decides.
create table dedupe (
  hash integer primary key,
  event_seq integer not null
) strict;

-- What is left of an event that was deleted while its id is still to be known. The rows of `dedupe` stay with it.
create table known_ids (
  event_seq integer primary key,
  id text not null,
  tenant_id text not null,
  dedupe_key blob not null,
  received_at integer not null
) strict;

-- Generated ids grow with time, like sequence numbers. So there is a mark at the first of each 128 numbers, and a row only
-- for an id that is out of order (the clock was set back).
create table event_id_marks (
  id text primary key,
  event_seq integer not null
) strict, without rowid;

create table event_ids (
  id text primary key,
  event_seq integer not null
) strict, without rowid;

-- What a search may skip: of each 1,024 events, when they came, and a filter of what they can be found by. Written with
-- the last event of the block. A block without a row is read event by event.
create table event_blocks (
  -- What an event is found by goes, by a hash of it, to one of several filters, so that a search reads little.
  segment integer not null,
  block integer not null,
  min_received_at integer not null,
  max_received_at integer not null,
  -- Whether the filters hold all labels of the events.
  has_all_labels integer not null check (has_all_labels in (0, 1)),
  filter blob not null,
  primary key (segment, block)
) strict, without rowid;

-- The same of 16 blocks in a row, packed, so that a search over everything reads few rows.
create table event_block_groups (
  segment integer not null,
  block_group integer not null,
  blocks blob not null,
  primary key (segment, block_group)
) strict, without rowid;

-- What became of the messages of queues that stay there until the deliveries of their event have ended, or that came again
-- as a replay. An event whose message is still in its queue is not deleted: the message will come again.
create table taken_messages (
  event_seq integer primary key,
  -- 0: in its queue; 1: acknowledged; 2: parked.
  state integer not null,
  -- 1, and one more with each replay by whoever sent it.
  generation integer not null,
  -- In wall time; null while it is in its queue.
  settled_at integer
) strict;

-- Events that this gateway has put into a queue and taken from there again, each with the one that it was at first.
create table returned_events (
  event_seq integer primary key,
  origin_seq integer not null,
  -- The queue that it was taken from.
  place text not null,
  -- Of its message; `taken_messages` knows a later one.
  generation integer not null
) strict;
create index returned_events_by_origin on returned_events (origin_seq);

-- Deliveries

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
  -- Place in the lane. Null when it may not go: it is terminal, or another of its ordering key is ahead of it. It stays
  -- while the delivery is being sent, so that the row need not grow at the end.
  rank integer,
  -- Set while it stands in the queue of its ordering key (ordered subscriptions only).
  queued_key text,
  expires_at integer,
  created_at integer not null,
  completed_at integer,
  dead_reason text,
  last_error text,
  -- 0: its next attempt may be brought forward when its destination accepts again; 1: it was; 2: it keeps its time.
  early integer not null default 0,
  -- `attempts.seq`; null when there was none.
  last_attempt integer,
  -- Whether it needs its row in the index `sending`.
  listed integer not null default 0,
  primary key (event_seq, subscription_seq)
) strict, without rowid;

-- What waits, by lane.
create index lanes on deliveries (subscription_seq, rank, next_attempt_at) where state = 0 and rank is not null;
create index key_queues on deliveries (subscription_seq, queued_key, event_seq) where queued_key is not null;
create index dead_letters on deliveries (completed_at, event_seq, subscription_seq) where state = 3;
create index expiring on deliveries (expires_at) where expires_at is not null and state < 2;
-- Dead letters of one subscription for those who look, and by event for those who walk over all of them.
create index dead_letters_by_subscription on deliveries (subscription_seq, completed_at, event_seq) where state = 3;
create index dead_letters_by_event on deliveries (event_seq, subscription_seq) where state = 3;
-- What was opened again and has not been tried since: so many at once and no more.
create index replays_open on deliveries (subscription_seq, state, next_trigger) where state < 2 and next_trigger = 3;
-- What is being sent, by event. Nearly all end a moment after they began, so only those have a row that the walk over the
-- newest deliveries has passed. After a crash that walk, from `sending_from` in `meta`, finds the others.
create index sending on deliveries (event_seq, subscription_seq) where state = 1 and listed = 1;
create index damaged_deliveries on deliveries (event_seq, subscription_seq) where state = 3 and dead_reason = 'damaged';

-- Attempts as they are recorded: the table grows at its end only. By delivery they would be scattered over as many pages
-- as there are in flight. A delivery points at its last attempt, and each attempt at the one before.
create table attempts (
  seq integer primary key,
  -- The attempt before it of the same delivery; null for the first.
  previous integer,
  event_seq integer not null,
  subscription_seq integer not null,
  number integer not null,
  started_at integer not null,
  duration_ms integer not null,
  result integer not null,
  cause integer not null,
  -- Null where they are in its form.
  url text,
  address text,
  request_headers text,
  response_code integer,
  response_headers text,
  response_body blob,
  error text,
  -- `attempt_forms.seq`; null where the attempt has url, address and headers itself.
  form integer,
  signatures text
) strict;

-- What the attempts of a subscription have in common (url, address, the gateway's own headers), once; an attempt keeps its
-- signatures only. By its number a form belongs to a part of the log of attempts, and goes when that is gone.
create table attempt_forms (
  seq integer primary key,
  subscription_seq integer not null,
  url text,
  address text,
  -- With a mark where a signature belongs.
  request_headers text not null
) strict;

-- Requests that made no event: rejected, ignored, duplicate. A ring per source bounds their number.

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
  body blob,
  -- Whose source it was when the request came: a source that changes its owner does not take them along.
  tenant_id text not null,
  -- JSON: of a request that held several events, what became of each.
  parts text,
  replayed_at integer,
  -- The id of the key.
  replayed_by text,
  -- A JSON list.
  replay_event_ids text,
  -- Of what a replay takes; null when the body was erased.
  checksum integer
) strict;
create index requests_by_id on requests (id);
create index requests_by_ring on requests (ring, seq);

-- Numbers

-- Counted in the transaction of what they count: a count over millions of rows takes a second. What changes together, of a
-- tenant's events and deliveries, lies together. Totals of all times; what was deleted of them is counted beside them.
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
  -- Events that only an operator's subscription for several tenants got; for their own tenants they are unmatched.
  operators_only integer not null default 0,
  primary key (tenant_id, subscription_seq)
) strict, without rowid;

-- The results of attempts, by minute and by hour. Time comes first: what is written at one time lies together.
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

-- Work in the background

-- Work that comes again and again. One gateway at a time runs a job: it holds a lease that it renews.
create table jobs (
  name text primary key,
  -- In scheduling time. Null while it runs and nobody has asked for another run.
  next_run_at integer,
  runner text,
  lease_until integer
) strict, without rowid;

create table job_runs (
  job text not null,
  number integer not null,
  cause text not null,
  started_at integer not null,
  ended_at integer,
  result text not null,
  -- JSON of what was done.
  summary text,
  error text,
  primary key (job, number)
) strict, without rowid;

-- Work on many deliveries at once. Its cursor and its counts change in the transaction that changes the deliveries.
create table replays (
  seq integer primary key,
  id text not null unique,
  -- Whose deliveries it is about; null when it goes over all tenants.
  tenant_id text,
  kind text not null,
  status text not null,
  -- JSON, as it was requested.
  filter text not null,
  subscription_seq integer,
  -- Set when the lane of a deleted subscription is cancelled: then it has no cursor, what is left is what is to do.
  lane_seq integer,
  -- Only events after the one and up to the other: not what comes in later.
  after_seq integer not null,
  up_to_seq integer not null,
  -- JSON of its runner.
  cursor text not null,
  total integer not null,
  total_is_exact integer not null check (total_is_exact in (0, 1)),
  done integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  error text,
  created_at integer not null,
  started_at integer not null,
  completed_at integer
) strict;
create index replays_by_tenant on replays (tenant_id, seq);

-- What is erased of a tenant, and how far that is. It changes in the transaction that erases.
create table tenant_erasures (
  tenant_id text primary key,
  -- Who asked for it, for the entry that is written at its end.
  actor text not null,
  via text,
  stage text not null,
  -- Of the rows of the stage.
  after_seq integer not null default 0,
  -- Events that there were when it began.
  total integer not null,
  events integer not null default 0,
  deliveries integer not null default 0,
  bytes integer not null default 0,
  requests integer not null default 0,
  records integer not null default 0,
  audit_entries integer not null default 0,
  -- JSON: names of its sources, which are those of the whole gateway; none when it is over.
  sources text not null default '[]',
  started_at integer not null,
  completed_at integer
) strict;

-- Audit

-- Who did what. Each entry's hash covers the entry and the hash before it.
create table audit (
  seq integer primary key,
  -- Canonical JSON of all that is hashed; the hash of `data` is part of it.
  entry text not null,
  -- Canonical JSON of what was changed; null where there is nothing to say, or where it was erased.
  data text,
  hash text not null
) strict;
create index audit_of_thing on audit (entry ->> '$.kind', entry ->> '$.id', seq);
create index audit_of_tenant on audit (entry ->> '$.tenant_id', seq);
create index audit_of_actor on audit (entry ->> '$.actor', seq);
create index audit_of_act on audit (entry ->> '$.act', seq);

-- `head`: the last entry, signed. `checkpoint`: the last one of those that were deleted because they were old.
create table audit_marks (
  name text primary key,
  seq integer not null,
  hash text not null,
  at integer not null,
  signature text not null
) strict, without rowid;

-- For people and reports

-- One line per event id that was ever received, by the names of the adapter's specification. Each known event of a request
-- with several has a line too. An event that came back from a queue has none: the one that it was at first has its status,
-- and is PENDING while it is in a queue that this gateway takes from (`own: take`).
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

-- What is readable of `settings` has no credentials, and the secrets are not read here.
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

-- What an empty database has: no event is being sent, and nobody has configured the tenant `default`.

insert into meta (key, value) values ('record_version', 1), ('sending_from', 1);

insert into records (kind, tenant_id, id, version, format, data, created_at, updated_at)
values ('tenant', '', 'default', 1, 0, '{}', unixepoch() * 1000, unixepoch() * 1000);
