-- What the webhooks of an endpoint must be like. A change is a new row: nothing is overwritten, and what is deleted can
-- be brought back. Both formats of an endpoint share one sequence of versions.
create table validation_versions (
  endpoint text not null,
  version integer not null,
  format text not null check (format in ('json', 'xsd')),
  -- As it was given; null is the end of what was there before.
  document blob,
  -- SHA-256 of the document as hex.
  hash text,
  restored_from integer,
  created_at integer not null,
  -- The id of a key, or `folder`.
  created_by text not null,
  -- Whether the folder holds it: else the store knows better than a file that is older.
  is_mirrored integer not null default 0 check (is_mirrored in (0, 1)),
  primary key (endpoint, version)
) strict;
