-- What is taken away of a tenant, and how far that is. It moves in the transaction that takes it away.
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
