-- Attempts in the order in which they are recorded: a table that only grows at its end, where those of one transaction
-- lie together. By delivery they were scattered over as many pages as there were in flight, and a delivery's own row
-- would grow tenfold in the middle of its table. A delivery points at its last attempt, and each attempt at the one before.
--
-- What was recorded before stays where it is, and is read from there.
alter table attempts rename to old_attempts;

create table attempts (
  seq integer primary key,
  -- The attempt before it of the same delivery; null for the first, and for the first after those in `old_attempts`.
  previous integer,
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
  error text
) strict;

-- `attempts.seq`; null when there was none since.
alter table deliveries add column last_attempt integer;
