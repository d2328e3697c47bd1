-- Of events that came as messages of a queue: what became of the message. Only of those that stay in their queue until
-- their deliveries have ended, and of those that came again as a replay. An event whose message is in its queue still is
-- not deleted, for the message will come again and must meet it.
create table taken_messages (
  event_seq integer primary key,
  -- 0: in its queue; 1: acknowledged; 2: parked.
  state integer not null,
  -- 1, and one more with each replay by whoever sent it.
  generation integer not null,
  -- In wall time; null while it is in its queue.
  settled_at integer
) strict;
