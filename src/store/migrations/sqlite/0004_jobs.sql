-- Work that comes again and again. One gateway at a time runs a job: it holds a lease that it renews.
create table jobs (
  name text primary key,
  -- In scheduling time. Null while it runs and nobody has asked for another run.
  next_run_at integer,
  runner text,
  lease_until integer
) strict, without rowid;

create table job_runs (
  job text not null,
  number integer not null,
  cause text not null,
  started_at integer not null,
  ended_at integer,
  result text not null,
  -- JSON of what was done.
  summary text,
  error text,
  primary key (job, number)
) strict, without rowid;
