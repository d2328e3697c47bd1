import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { allTargetsQuery } from "../../api/queries.ts";
import type { Status } from "../../api/types.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { formatSpan, RelativeTime, useNow } from "../../ui/time.tsx";
import { hrefOf } from "../targets/target-key.ts";

type KnownTarget = Status["targets"][number];

const SHOWN = 5;

/** Whether the gateway delivers, and if not everywhere, where not, why and since when. */
export function ModePanel({ status }: { status: Status }) {
  const now = useNow();
  const troubled = status.targets.filter(isTroubled);
  const findHref = useTargetHrefs(troubled.length > 0);
  const isWell = status.condition === "healthy";
  return (
    <section className={`card mode ${isWell ? "mode-well" : "mode-troubled"}`} aria-label="Mode">
      <p className="mode-line">
        <Badge state={status.condition} />
        <strong>{isWell ? describeWell(status.queue_length) : summarise(status)}</strong>
      </p>
      {troubled.length > 0 && (
        <Trouble all="/targets" count={troubled.length}>
          {troubled.slice(0, SHOWN).map((target, index) => (
            // Own targets of subscriptions may have the same name.
            <li key={`${target.name} ${index}`}>
              <Badge state={target.condition} />
              <Link href={findHref(target)}>
                <strong>{target.name}</strong>
              </Link>
              <span>{whyTroubled(target, status)}</span>
              <span className="muted">
                {formatCount(target.queue_length)} waiting
                {target.since !== null && <>, for {formatSpan(now - Date.parse(target.since))}</>}
              </span>
            </li>
          ))}
        </Trouble>
      )}
      {status.missing_sources.length > 0 && (
        <Trouble all="/targets" count={status.missing_sources.length}>
          {status.missing_sources.slice(0, SHOWN).map((missing) => (
            <li key={`${missing.subscription} ${missing.source}`}>
              <Badge state="failing" />
              <strong>{missing.source}</strong>
              <span>
                is unknown to the target of {missing.subscription}: {missing.last_error}
              </span>
              <span className="muted">
                since <RelativeTime at={missing.since} />, next try{" "}
                {describeNext(Date.parse(missing.next_try_at) - now)}
              </span>
            </li>
          ))}
        </Trouble>
      )}
      {status.suspended.length > 0 && (
        <Trouble all="/subscriptions" count={status.suspended.length}>
          {status.suspended.slice(0, SHOWN).map(({ id, subscription, since, reason }) => (
            <li key={id}>
              <Badge state="suspended" />
              <Link href={`/subscriptions/${encodeURIComponent(id)}`}>
                <strong>{subscription}</strong>
              </Link>
              <span>{reason}</span>
              {since !== null && (
                <span className="muted">
                  <RelativeTime at={since} />
                </span>
              )}
            </li>
          ))}
        </Trouble>
      )}
    </section>
  );
}

function describeWell(waiting: number): string {
  if (waiting === 0) return "Everything is delivered.";
  return `Nothing fails; ${formatCount(waiting)} ${waiting === 1 ? "delivery waits" : "deliveries wait"}.`;
}

function whyTroubled(target: KnownTarget, { missing_sources: missing }: Status): string {
  const isWell = target.condition === "failing" && target.failures === 0 && target.health === "ok";
  if (isWell && missing.length > 0) return "does not know all sources";
  return target.reason ?? target.last_error ?? "fails";
}

function describeNext(inMs: number): string {
  return inMs < 1000 ? "now" : `in ${formatSpan(inMs)}`;
}

/** The first few, and where the others are. */
function Trouble({ all, count, children }: { all: string; count: number; children: ReactNode }) {
  return (
    <ul className="trouble">
      {children}
      {count > SHOWN && (
        <li>
          <Link href={all}>and {formatCount(count - SHOWN)} more</Link>
        </li>
      )}
    </ul>
  );
}

/** Suspended ones are listed by themselves. */
function isTroubled({ condition }: Pick<KnownTarget, "condition">): boolean {
  return condition === "down" || condition === "failing";
}

/** `/status` has only their names: the list of targets tells whose they are. */
function useTargetHrefs(isWanted: boolean): (target: KnownTarget) => string {
  const { data } = useInfiniteQuery({ ...allTargetsQuery, enabled: isWanted });
  const known = new Map(
    data?.pages.flatMap((page) => page.data.map((target) => [`${target.name} ${target.since}`, hrefOf(target)])),
  );
  return ({ name, since }) => known.get(`${name} ${since}`) ?? `/targets?text=${encodeURIComponent(name)}`;
}

function summarise({ targets, suspended, connections, missing_sources: missing }: Status): string {
  const down = targets.filter(({ condition }) => condition === "down").length;
  const texts = [
    suspended.length === 1 && "One subscription is suspended. Review and resume it.",
    suspended.length > 1 && `${formatCount(suspended.length)} subscriptions are suspended. Review and resume them.`,
    down === 1 && "One target is down. Its deliveries wait, and are sent when it is back.",
    down > 1 && `${formatCount(down)} targets are down. Their deliveries wait, and are sent when they are back.`,
    missing.length === 1 && "One source is unknown to its target. Its deliveries wait, and are tried again.",
    missing.length > 1 &&
      `${formatCount(missing.length)} sources are unknown to their targets. Their deliveries wait, and are tried again.`,
  ].filter((text) => text !== false);
  if (texts.length > 0) return texts.join(" ");
  if (targets.some(({ condition }) => condition === "failing")) return "Some deliveries fail.";
  if (connections.some(({ state }) => state === "failed")) return "A broker cannot be reached.";
  return "Something is wrong.";
}
