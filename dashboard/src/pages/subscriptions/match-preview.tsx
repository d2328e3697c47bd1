import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { FilterResult } from "../../api/types.ts";
import { useSettled } from "../../forms/use-settled.ts";
import { Badge } from "../../ui/badge.tsx";
import { Failure } from "../../ui/failure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { RelativeTime } from "../../ui/time.tsx";
import { findCandidates, type Candidate, type Wanted } from "./matching.ts";
import { asPattern } from "./patterns.ts";

/** Asks again when nobody types any more. */
export function useMatching(typed: Wanted) {
  const wanted = useSettled(typed);
  return useQuery({
    queryKey: ["matching", wanted],
    queryFn: ({ signal }) => findCandidates(wanted, signal),
    enabled: wanted.events.length > 0,
    placeholderData: (before) => before,
    retry: false,
  });
}

export function isMatch({ result }: Candidate): boolean {
  return result?.match !== false;
}

interface MatchPreviewProps {
  events: readonly string[];
  query: ReturnType<typeof useMatching>;
}

/** Which of the latest events would be delivered, while patterns and filter are typed. */
export function MatchPreview({ events, query }: MatchPreviewProps) {
  const wrong = events.map((text) => asPattern(text).fault).find((fault) => fault !== undefined);
  const found = query.data ?? [];
  const matching = found.filter(isMatch).length;
  return (
    <section className="card" aria-labelledby="matching-head">
      <h2 id="matching-head">Matching recent events</h2>
      <div role="status">
        {events.length === 0 && (
          <p className="muted">Enter a pattern, and the events that it matches are shown here.</p>
        )}
        {wrong !== undefined && <p className="error-text small">{wrong}</p>}
        {query.error !== null && <Failure error={query.error} />}
        {query.isLoading && <Skeleton />}
        {query.isSuccess && query.error === null && events.length > 0 && (
          <p>
            {found.length === 0
              ? "No event of these types has come in yet."
              : `${matching} of the latest ${found.length} match.`}
          </p>
        )}
      </div>
      {query.error === null && (
        <ul className="rows">
          {found.map((candidate) => (
            <Row key={candidate.event.event_id} candidate={candidate} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Row({ candidate }: { candidate: Candidate }) {
  const { event, result } = candidate;
  const isGood = isMatch(candidate);
  return (
    <li>
      <p className="row-head">
        <Badge state={isGood ? "ok" : "no"} tone={isGood ? "good" : "neutral"}>
          {isGood ? "match" : "no match"}
        </Badge>
        <Link className="ellipsis" href={`/events/${encodeURIComponent(event.event_id)}`}>
          {event.event_type}
        </Link>
        <span className="muted small">
          <RelativeTime at={event.received_at} />
        </span>
      </p>
      {result?.failed !== undefined && <p className="muted small">{explain(result.failed)}</p>}
    </li>
  );
}

function explain({ path, operator, expected, ...rest }: NonNullable<FilterResult["failed"]>): string {
  const found = "found" in rest ? JSON.stringify(rest.found) : "nothing";
  return `${path} must be ${operator} ${JSON.stringify(expected)}; it is ${found}`;
}
