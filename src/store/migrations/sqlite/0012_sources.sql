-- Sources by API, and requests that are taken in again.

-- Null for those that were declared before.
alter table sources add column created_at integer;
alter table sources add column last_request_at integer;

-- JSON: of a request that held several events, what became of each.
alter table requests add column parts text;
alter table requests add column replayed_at integer;
-- The id of the key.
alter table requests add column replayed_by text;
-- A JSON list.
alter table requests add column replay_event_ids text;
