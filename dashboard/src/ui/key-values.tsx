import type { ReactNode } from "react";

/** Names with their values; what is undefined is left out. */
export function KeyValues({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="key-values">
      {rows.map(([name, value]) =>
        value === undefined || value === null || value === "" || value === false ? undefined : (
          <div key={name} className="key-value">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

export function HeaderList({ headers }: { headers: Readonly<Record<string, unknown>> | null | undefined }) {
  const rows = Object.entries(headers ?? {});
  if (rows.length === 0) return <p className="muted">None</p>;
  return (
    <div className="mono small">
      <KeyValues rows={rows.map(([name, value]) => [name, [value].flat().join(", ")])} />
    </div>
  );
}
