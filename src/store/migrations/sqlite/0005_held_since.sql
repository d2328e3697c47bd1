-- Since when a subscription is paused or suspended; null while it is active.
alter table subscriptions add column held_since integer;
update subscriptions set held_since = updated_at where status <> 'active';
