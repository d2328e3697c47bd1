-- A checksum of what a delivery sends. Null in rows of earlier releases, which are read unchecked.
alter table events add column checksum integer;
alter table bodies add column checksum integer;

create index damaged_deliveries on deliveries (event_seq, subscription_seq) where state = 3 and dead_reason = 'damaged';
