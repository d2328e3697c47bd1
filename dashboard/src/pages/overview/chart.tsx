import { useEffect, useEffectEvent, useMemo, useRef, useSyncExternalStore } from "react";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface ChartLine {
  label: string;
  /** A custom property of the theme. */
  colour: string;
  values: readonly (number | null)[];
}

export interface ChartProps {
  title: string;
  /** In unix seconds. */
  times: readonly number[];
  lines: readonly ChartLine[];
  format: (value: number) => string;
}

const HEIGHT_PX = 180;
const SYNC = "overview";

/** Hours from 0 to 24, with the day where it changes; in the form that uPlot asks for, by the step between two marks. */
const DAY = "\n{D} {MMM}";
const CLOCK = [
  [86_400, "{D} {MMM}", null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", DAY, null, DAY, null, null, null, 1],
];

const formatTime = UPlot.fmtDate("{D} {MMM} {HH}:{mm}");

/** Drawn anew when the theme changes: a canvas knows no custom properties. */
export function Chart(props: ChartProps) {
  const theme = useThemeName();
  const labels = props.lines.map(({ label }) => label).join();
  return (
    <figure className="card chart">
      <figcaption>{props.title}</figcaption>
      <Plot key={`${theme} ${labels}`} {...props} />
    </figure>
  );
}

function Plot({ title, times, lines, format }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const data = useMemo(() => [times, ...lines.map(({ values }) => values)] as UPlot.AlignedData, [times, lines]);
  const draw = useEffectEvent((element: HTMLElement) => new UPlot(optionsOf(element, lines, format), data, element));

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = draw(element);
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [data]);

  return <div ref={place} role="img" aria-label={`${title}: ${lines.map(describe(format)).join("; ")}`} />;
}

/** In words, for those who do not see it. */
function describe(format: (value: number) => string) {
  return ({ label, values }: ChartLine): string => {
    const known = values.filter((value) => value !== null);
    return known.length === 0
      ? `${label} none`
      : `${label} now ${format(known.at(-1) ?? 0)}, at most ${format(Math.max(...known))}`;
  };
}

function optionsOf(
  element: HTMLElement,
  lines: readonly ChartLine[],
  format: (value: number) => string,
): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--text-muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    cursor: { sync: { key: SYNC }, y: false, points: { size: 7 } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, (high ?? 0) * 1.1)] } },
    axes: [
      { ...axis, values: CLOCK },
      { ...axis, size: 76, values: (_plot, splits) => splits.map((split) => format(split)) },
    ],
    legend: { markers: { width: 0, fill: (_plot, index) => colour(lines[index - 1]?.colour ?? "") } },
    series: [
      { value: (_plot, at) => (at === null ? "" : formatTime(new Date(at * 1000))) },
      ...lines.map(({ label, colour: name }) => ({
        label,
        stroke: colour(name),
        width: 2,
        points: { size: 5 },
        spanGaps: false,
        value: (_plot: UPlot, value: number | null) => (value === null ? "" : format(value)),
      })),
    ],
  };
}

function useThemeName(): string {
  return useSyncExternalStore(subscribeToTheme, () => {
    const chosen = document.documentElement.dataset["theme"];
    return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  });
}

function subscribeToTheme(notify: () => void): () => void {
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", notify);
  const observer = new MutationObserver(notify);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    media.removeEventListener("change", notify);
    observer.disconnect();
  };
}
