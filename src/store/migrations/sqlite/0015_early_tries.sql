-- 0: its next try may be brought forward when its destination takes something again; 1: it was; 2: it keeps its time.
alter table deliveries add column early integer not null default 0;
