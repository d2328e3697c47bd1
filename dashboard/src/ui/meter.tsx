/** How much of a limit is used; without a limit only how much. */
export function Meter(props: { label: string; used: number; limit: number | null; format: (count: number) => string }) {
  const { label, used, limit, format } = props;
  const share = limit === null || limit === 0 ? 0 : Math.min(1, used / limit);
  return (
    <div className="meter">
      <span>{label}</span>
      <span className="number">
        {format(used)} <span className="muted">{limit === null ? "no limit" : `of ${format(limit)}`}</span>
      </span>
      {limit !== null && (
        <svg className="meter-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect width="100" height="4" className="meter-ground" />
          <rect width={share * 100} height="4" className={share >= 0.9 ? "meter-full" : "meter-used"} />
        </svg>
      )}
    </div>
  );
}
