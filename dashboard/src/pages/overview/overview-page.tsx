import { useQuery } from "@tanstack/react-query";
import { seriesQuery, statisticsQuery, statusQuery } from "../../api/queries.ts";
import type { SeriesWindow } from "../../api/types.ts";
import { useInvalidation } from "../../api/use-invalidation.ts";
import { useStream } from "../../api/use-stream.ts";
import { PageHead } from "../../layout/shell.tsx";
import { useView } from "../../layout/use-view.ts";
import { Command, EmptyState } from "../../ui/empty-state.tsx";
import { Failure } from "../../ui/failure.tsx";
import { lazy } from "../../ui/lazy.tsx";
import { formatCount, formatMs, formatRate, formatShare } from "../../ui/numbers.ts";
import { Segmented } from "../../ui/segmented.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { formatSpan } from "../../ui/time.tsx";
import { ActiveAlerts } from "./active-alerts.tsx";
import { ModePanel } from "./mode-panel.tsx";
import { Tile } from "../../ui/tile.tsx";
import { useRates } from "./use-rates.ts";
import { WorstSubscriptions } from "./worst-subscriptions.tsx";

const Charts = lazy(async () => ({ default: (await import("./charts.tsx")).Charts }), 6);

const WINDOWS: Readonly<Record<SeriesWindow, string>> = {
  last_15m: "15 min",
  last_1h: "1 h",
  last_24h: "24 h",
  last_7d: "7 d",
};

export function OverviewPage() {
  const view = useView();
  const asked = view.get("window");
  const window = asked !== undefined && asked in WINDOWS ? (asked as SeriesWindow) : "last_1h";
  const status = useQuery(statusQuery);
  const statistics = useQuery(statisticsQuery);
  const series = useQuery(seriesQuery(window));
  const rates = useRates(statistics.data, statistics.dataUpdatedAt);
  useLiveTrouble();

  return (
    <>
      <PageHead title="Overview">
        <Segmented
          label="Time span"
          options={WINDOWS}
          value={window}
          onChange={(chosen) => view.set({ window: chosen === "last_1h" ? undefined : chosen })}
        />
      </PageHead>
      {status.error !== null && <Failure error={status.error} onRetry={() => void status.refetch()} />}
      {status.data === undefined ? <Skeleton /> : <ModePanel status={status.data} />}
      <div className="tiles">
        <Tile label="Events in" value={rates && `${formatRate(rates.in)}/s`} href="/events" />
        <Tile label="Attempts out" value={rates && `${formatRate(rates.out)}/s`} />
        <Tile
          label={`Delivered, ${WINDOWS[window]}`}
          value={series.data && formatShare(series.data.delivered_rate)}
          note={series.data && `first try ${formatShare(series.data.first_try_rate)}`}
        />
        <Tile
          label="Latency, median"
          value={series.data && formatMs(series.data.latency_p50_ms)}
          note={series.data && `p99 ${formatMs(series.data.latency_p99_ms)}`}
        />
        <Tile
          label="Waiting"
          value={status.data && formatCount(status.data.queue_length)}
          note={describeOldest(status.data?.oldest_open_s)}
        />
        <Tile
          label="Dead letters"
          value={statistics.data && formatCount(statistics.data.deliveries.dead_letters)}
          isBad={(statistics.data?.deliveries.dead_letters ?? 0) > 0}
          href="/dead-letters"
        />
      </div>
      {statistics.data?.events.accepted === 0 && <FirstEvent />}
      {series.data && <Charts series={series.data} />}
      <div className="columns">
        <WorstSubscriptions />
        <ActiveAlerts />
      </div>
    </>
  );
}

/** What goes wrong, or is well again, is shown at once. Figures are asked for now and then; so is all if the stream fails. */
function useLiveTrouble(): void {
  const invalidate = useInvalidation();
  useStream({ types: "mode,alert" }, ({ name }) => {
    if (name !== "ready" && name !== "mode" && name !== "alert") return;
    invalidate(["status"], ["alerts"], ["subscriptions"], ["targets"]);
  });
}

function describeOldest(seconds: number | null | undefined): string | undefined {
  return seconds === null || seconds === undefined ? undefined : `oldest ${formatSpan(seconds * 1000)}`;
}

function FirstEvent() {
  const body = `'{"hello":"world"}'`;
  return (
    <section className="card">
      <EmptyState title="Nothing has come in yet">
        Send a first webhook from a terminal. It appears under Events.
      </EmptyState>
      <Command text={`curl ${location.origin}/webhook/hello -H 'content-type: application/json' -d ${body}`} />
    </section>
  );
}
