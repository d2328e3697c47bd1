import { useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client.ts";
import { Button } from "./button.tsx";
import { Diff } from "./diff.tsx";
import { Failure } from "./failure.tsx";
import { Skeleton } from "./skeleton.tsx";

export interface OutdatedProps<Now extends { thing: unknown }> {
  /** What would be saved over that; a text is compared as it is. */
  yours: (now: Now) => unknown;
  load: () => Promise<Now>;
  onTakeTheirs: (now: Now) => void;
  /** They have seen both and go on with their own: the next save is on top of this version. */
  onKeepYours: (now: Now) => void;
}

/** Every 412: somebody else changed the same thing meanwhile. Both versions, line by line, and which one goes on. */
export function Outdated<Now extends { thing: unknown }>({ yours, load, ...choices }: OutdatedProps<Now>) {
  const place = useRef<HTMLElement>(null);
  const [now, setNow] = useState<Now>();
  const [error, setError] = useState<Error>();
  // Once: what is compared must not change while it is read.
  const [asked] = useState(load);
  useEffect(() => void asked.then(setNow, setError), [asked]);
  useEffect(() => {
    // Some browsers answer with a promise, which React would take for a way to clean up.
    place.current?.scrollIntoView({ block: "center" });
  }, []);
  return (
    <section
      ref={place}
      className="notice notice-waiting notice-block"
      role="alert"
      aria-label="Somebody else changed it"
    >
      <p>
        <strong>Somebody else changed this while you edited it.</strong> Nothing was saved. Lines with − are what is
        stored now, lines with + are yours.
      </p>
      {error !== undefined && <Failure error={error} />}
      {now === undefined && error === undefined && <Skeleton />}
      {now !== undefined && (
        <>
          <Diff before={toText(now.thing)} after={toText(yours(now))} label="Stored now, and yours" />
          <div className="dialog-actions">
            <Button onClick={() => choices.onTakeTheirs(now)}>Discard mine</Button>
            <Button onClick={() => choices.onKeepYours(now)}>Keep mine</Button>
          </div>
        </>
      )}
    </section>
  );
}

export function isOutdated(error: Error | null): boolean {
  return error instanceof ApiError && error.isOutdated;
}

function toText(thing: unknown): string {
  return typeof thing === "string" ? thing : JSON.stringify(thing, undefined, 2);
}
