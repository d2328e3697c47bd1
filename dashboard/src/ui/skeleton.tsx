/** Stands where something is loaded. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, n) => (
        <span key={n} className="skeleton-line" />
      ))}
    </div>
  );
}
