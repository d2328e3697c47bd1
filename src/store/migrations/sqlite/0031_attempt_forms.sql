-- What all attempts of a subscription have in common (url, address, the gateway's own headers) stands here once, and an
-- attempt keeps its signatures only. Forms are numbered so that they belong to a part of the log of attempts, and go
-- when that is gone.
create table attempt_forms (
  seq integer primary key,
  subscription_seq integer not null,
  url text,
  address text,
  -- With a mark where a signature belongs.
  request_headers text not null
) strict;

-- Null where the attempt has url, address and headers itself.
alter table attempts add column form integer;
alter table attempts add column signatures text;
