-- When somebody had the body of an event erased, in wall time.
alter table events add column erased_at integer;
