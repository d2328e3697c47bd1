-- A delivery that is sent as it was born has no rank, and needs no row in the index of what is being sent: nearly all of
-- them end a moment later. What is left of them after a crash is found by a walk from the place that `meta` holds.
drop index sending;
create index sending on deliveries (event_seq, subscription_seq, rank) where state = 1 and rank is not null;
insert into meta (key, value) select 'born_sending_from', coalesce(max(seq), 0) + 1 from events;
