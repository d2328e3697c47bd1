export interface SparkPoint {
  good: number;
  bad: number;
}

const HEIGHT = 24;
const WIDTH = 4;
const GAP = 1;

/** What became of attempts over time, in a line of text's height: good from below, bad on top of it. */
export function Sparkline({ points, label }: { points: readonly SparkPoint[]; label: string }) {
  const highest = Math.max(1, ...points.map(({ good, bad }) => good + bad));
  const width = points.length * (WIDTH + GAP);
  const toPx = (count: number) => (count === 0 ? 0 : Math.max(2, (count / highest) * HEIGHT));
  return (
    <svg
      className="sparkline"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      width={width}
      height={HEIGHT}
    >
      {points.map(({ good, bad }, index) => {
        const [goodPx, badPx] = [toPx(good), toPx(bad)];
        const x = index * (WIDTH + GAP);
        const goodTop = HEIGHT - Math.min(goodPx, HEIGHT - badPx);
        return (
          <g key={index}>
            {good + bad === 0 && <rect className="spark-none" x={x} y={HEIGHT - 1} width={WIDTH} height={1} />}
            {good > 0 && <rect className="spark-good" x={x} y={goodTop} width={WIDTH} height={HEIGHT - goodTop} />}
            {bad > 0 && <rect className="spark-bad" x={x} y={goodTop - badPx} width={WIDTH} height={badPx} />}
          </g>
        );
      })}
    </svg>
  );
}
