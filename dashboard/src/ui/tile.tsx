import { Link } from "wouter";

export interface TileProps {
  label: string;
  /** Undefined while it is loaded. */
  value: string | undefined;
  note?: string | undefined;
  isBad?: boolean;
  href?: string;
}

export function Tile({ label, value, note, isBad = false, href }: TileProps) {
  const content = (
    <>
      <span className="tile-label">{label}</span>
      <span className={`tile-value ${isBad ? "tile-bad" : ""}`}>{value ?? "…"}</span>
      <span className="tile-note">{note}</span>
    </>
  );
  if (href === undefined) return <div className="tile">{content}</div>;
  return (
    <Link className="tile tile-link" href={href}>
      {content}
    </Link>
  );
}
