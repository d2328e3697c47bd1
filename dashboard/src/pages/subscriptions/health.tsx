import { useQuery } from "@tanstack/react-query";
import { healthQuery } from "../../api/queries.ts";
import { formatCount } from "../../ui/numbers.ts";
import { Sparkline } from "../../ui/sparkline.tsx";

/** The last 24 hours of a subscription, an hour each. */
export function Health({ id }: { id: string }) {
  const { data } = useQuery(healthQuery(id));
  if (data === undefined) return <span className="sparkline-empty" />;
  const points = data.series.map(({ success_count: good, failure_count: bad }) => ({ good, bad }));
  const label = `Last 24 hours: ${formatCount(data.success_count)} delivered, ${formatCount(data.failure_count)} failed attempts`;
  return <Sparkline points={points} label={label} />;
}
