import type { ReactNode } from "react";

export interface Column<Row> {
  /** At the head, and beside the value where the screen is narrow. */
  title: string;
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
}

interface DataTableProps<Row> {
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** The first one says which thing the row is about. */
  columns: readonly Column<Row>[];
  /** Behind the columns: what can be done with a row. */
  actions?: ((row: Row) => ReactNode) | undefined;
}

/** A table that becomes a list of names and values where the screen is narrow. */
export function DataTable<Row>({ rows, keyOf, columns, actions }: DataTableProps<Row>) {
  const classOf = ({ isNumber = false }: Column<Row>) => (isNumber ? "number" : undefined);
  return (
    <table className="table table-stack">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} scope="col" className={classOf(column)}>
              {column.title}
            </th>
          ))}
          {actions !== undefined && (
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column, index) => (
              <td key={column.title} className={classOf(column)} data-label={index === 0 ? undefined : column.title}>
                <div>{column.cell(row)}</div>
              </td>
            ))}
            {actions !== undefined && <td className="table-actions">{actions(row)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
