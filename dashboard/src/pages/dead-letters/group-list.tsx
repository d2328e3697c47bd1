import { useView } from "../../layout/use-view.ts";
import type { DeadLetterGroup } from "../../api/types.ts";
import type { Filters } from "../../layout/view-filters.ts";
import { useMay } from "../../session/use-may.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Item, Items } from "../../ui/items.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { RelativeTime } from "../../ui/time.tsx";
import type { BulkAction } from "../bulk/bulk-actions.ts";
import { DEAD_CAUSES, labelOf } from "../../deliveries/dead-causes.ts";

interface GroupListProps {
  groups: readonly DeadLetterGroup[];
  isExact: boolean;
  filters: Filters;
  onAction: (action: BulkAction) => void;
}

export function GroupList({ groups, isExact, filters, onAction }: GroupListProps) {
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  return (
    <section className="card" aria-labelledby="groups-head">
      <div className="card-head">
        <h2 id="groups-head">By subscription and cause</h2>
        <span className="muted small">
          {isExact ? formatCount(total) : `the latest ${formatCount(total)}`} in {groups.length}{" "}
          {groups.length === 1 ? "group" : "groups"}
        </span>
      </div>
      <Items label="Groups of dead letters">
        {groups.map((group) => (
          <Group key={`${group.subscription_id} ${group.reason}`} group={group} filters={filters} onAction={onAction} />
        ))}
      </Items>
    </section>
  );
}

function Group({
  group,
  filters,
  onAction,
}: Pick<GroupListProps, "filters" | "onAction"> & { group: DeadLetterGroup }) {
  const mayChange = useMay("change");
  const view = useView();
  const { subscription_id: id, subscription_name: name, reason, count, last_error: error } = group;
  const own = { ...filters, subscription_id: id, reason: reason ?? undefined };
  // Nothing can be sent to a subscription that was deleted, nor asked for by its id.
  const isGone = name === null;
  return (
    <Item
      title={name ?? "Deleted subscription"}
      href={isGone ? undefined : view.hrefWith({ subscription_id: id, reason: reason ?? undefined })}
      badges={<Badge state="dead">{labelOf(reason)}</Badge>}
      note={
        <>
          {error !== null && <span className="mono item-error">{error}</span>}
          <span>
            latest <RelativeTime at={group.latest_at} />
          </span>
          {reason !== null && <span className="item-line">{DEAD_CAUSES[reason].advice}</span>}
        </>
      }
      figure={<strong>{formatCount(count)}</strong>}
      actions={
        mayChange(id) && !isGone ? (
          <>
            <Button
              aria-label={`Purge ${name}, ${labelOf(reason)}`}
              onClick={() => onAction({ kind: "purge", filters: own })}
            >
              Purge
            </Button>
            <Button
              aria-label={`Replay ${name}, ${labelOf(reason)}`}
              onClick={() => onAction({ kind: "replay", filters: own })}
            >
              Replay
            </Button>
          </>
        ) : undefined
      }
    />
  );
}
