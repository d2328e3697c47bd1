import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { deadLettersQuery } from "../../api/replay-queries.ts";
import type { Delivery } from "../../api/types.ts";
import type { Filters } from "../../layout/view-filters.ts";
import { useMay } from "../../session/use-may.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Item, Items, LoadMore } from "../../ui/items.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { labelOf } from "../../deliveries/dead-causes.ts";
import { PurgeChosenDialog } from "./purge-chosen-dialog.tsx";
import { useActionOnSome } from "./use-action-on-some.ts";

const NONE: ReadonlySet<string> = new Set();

/** With a `key` of the filters: what was chosen among others is chosen no longer. */
export function DeadLetterList({ filters }: { filters: Filters }) {
  const query = useInfiniteQuery(deadLettersQuery(filters));
  const mayChange = useMay("change");
  const [chosen, setChosen] = useState(NONE);
  const [isPurging, setPurging] = useState(false);
  const clear = () => {
    setChosen(NONE);
    setPurging(false);
  };
  const replay = useActionOnSome("replay", clear);
  const purge = useActionOnSome("purge", clear);
  const letters = query.data?.pages.flatMap(({ data }) => data) ?? [];

  function choose(id: string): void {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  }

  return (
    <section className="card" aria-labelledby="letters-head">
      <div className="card-head">
        <h2 id="letters-head">Deliveries</h2>
        {chosen.size > 0 && (
          <div className="page-actions">
            <Button kind="quiet" onClick={clear}>
              Clear selection
            </Button>
            <Button onClick={() => setPurging(true)}>Purge {chosen.size} selected</Button>
            <Button kind="primary" isBusy={replay.isPending} onClick={() => replay.run([...chosen])}>
              Replay {chosen.size} selected
            </Button>
          </div>
        )}
      </div>
      {query.error !== null && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton lines={6} />}
      <Items label="Dead letters">
        {letters.map((letter) => (
          <Letter
            key={letter.id}
            letter={letter}
            isChosen={chosen.has(letter.id)}
            onChoose={mayChange(letter.subscription_id) ? () => choose(letter.id) : undefined}
          />
        ))}
      </Items>
      <LoadMore {...query} />
      {isPurging && <PurgeChosenDialog ids={[...chosen]} purge={purge} onClose={() => setPurging(false)} />}
    </section>
  );
}

interface LetterProps {
  letter: Delivery;
  isChosen: boolean;
  onChoose: (() => void) | undefined;
}

function Letter({ letter, isChosen, onChoose }: LetterProps) {
  const { event_id: eventId, event_type: type, attempt_count: attempts, completed_at: at } = letter;
  return (
    <Item
      lead={
        onChoose && (
          <input
            type="checkbox"
            className="item-check"
            checked={isChosen}
            onChange={onChoose}
            aria-label={`Select ${letter.id}`}
          />
        )
      }
      title={type}
      href={`/events/${encodeURIComponent(eventId)}`}
      badges={<Badge state="dead">{labelOf(letter.dead_reason)}</Badge>}
      note={
        <>
          <span>{letter.subscription_name ?? "deleted subscription"}</span>
          {letter.last_error !== null && <span className="mono item-error">{letter.last_error}</span>}
          <span>
            {attempts} {attempts === 1 ? "attempt" : "attempts"}
          </span>
        </>
      }
      figure={at !== null && <RelativeTime at={at} />}
    />
  );
}
