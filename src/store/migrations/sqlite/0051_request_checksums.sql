-- A checksum of what a replay takes from a kept request. Null in rows of earlier releases, which are read unchecked.
alter table requests add column checksum integer;
