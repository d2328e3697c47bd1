import { useInfiniteQuery } from "@tanstack/react-query";
import { replaysQuery } from "../../api/replay-queries.ts";
import { ListPage } from "../../layout/list-page.tsx";
import { useView } from "../../layout/use-view.ts";
import { apiCommand } from "../../ui/api-command.ts";
import { Badge } from "../../ui/badge.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Item, Items } from "../../ui/items.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { ChoiceFilter } from "../../ui/view-filters.tsx";
import { FilterLine } from "./filter-words.tsx";
import { LoadedResults, Progress } from "./progress.tsx";
import { KINDS, STATUSES } from "./words.ts";

const FILTERS = ["status"] as const;

/** Jobs that work on many deliveries: those that run, and those that are over. */
export function ReplaysPage() {
  const view = useView();
  const query = useInfiniteQuery(replaysQuery({ status: view.get("status") }));
  return (
    <ListPage
      title="Replays"
      noun="replay"
      view={view}
      filterNames={FILTERS}
      filters={<ChoiceFilter view={view} name="status" label="Status" options={STATUSES} />}
      query={query}
      empty={<NoReplays />}
    >
      {(replays) => (
        <section className="card" aria-label="Jobs">
          <Items label="Replays">
            {replays.map((replay) => (
              <Item
                key={replay.id}
                title={KINDS[replay.kind]}
                href={`/bulk/${encodeURIComponent(replay.id)}`}
                badges={<Badge state={replay.status} />}
                note={
                  <>
                    <FilterLine filter={replay.filter} />
                    <span>
                      started <RelativeTime at={replay.started_at} />
                    </span>
                    <span className="item-line">
                      <LoadedResults id={replay.id} />
                    </span>
                  </>
                }
                figure={<Progress replay={replay} />}
              />
            ))}
          </Items>
        </section>
      )}
    </ListPage>
  );
}

function NoReplays() {
  return (
    <EmptyState
      title="Nothing was replayed yet"
      forPartners="Replays of many deliveries start on the page Dead letters."
      command={apiCommand("/api/v1/replays", { kind: "dead_letters", filter: {}, plan: true })}
    >
      Replays of many deliveries start on the page Dead letters, or from a terminal. This command only counts:
    </EmptyState>
  );
}
