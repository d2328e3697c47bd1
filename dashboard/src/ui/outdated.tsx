import { useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { Diff } from "./diff.tsx";
import { Failure } from "./failure.tsx";
import { Skeleton } from "./skeleton.tsx";

interface OutdatedProps<Now extends { thing: unknown }> {
  /** What could not be saved; a text is compared as it is. */
  yours: unknown;
  load: () => Promise<Now>;
  onTakeTheirs: (now: Now) => void;
  /** They have seen both and want to save theirs over it. */
  onKeepYours: (now: Now) => void;
}

/** Somebody else changed the same thing meanwhile: both versions, side by side, and which one goes on. */
export function Outdated<Now extends { thing: unknown }>(props: OutdatedProps<Now>) {
  const { yours, load, onTakeTheirs, onKeepYours } = props;
  const [now, setNow] = useState<Now>();
  const [error, setError] = useState<Error>();
  // Once: what is compared must not change while it is read.
  const [asked] = useState(load);
  useEffect(() => void asked.then(setNow, setError), [asked]);
  return (
    <div className="notice notice-waiting notice-block" role="alert">
      <p>
        <strong>Somebody else changed this while you edited it.</strong> Nothing was saved. Lines with − are what is
        stored now, lines with + are yours.
      </p>
      {error !== undefined && <Failure error={error} />}
      {now === undefined && error === undefined && <Skeleton />}
      {now !== undefined && (
        <>
          <Diff before={toText(now.thing)} after={toText(yours)} label="Stored now, and yours" />
          <div className="dialog-acts">
            <Button onClick={() => onTakeTheirs(now)}>Discard mine</Button>
            <Button onClick={() => onKeepYours(now)}>Keep mine</Button>
          </div>
        </>
      )}
    </div>
  );
}

function toText(thing: unknown): string {
  return typeof thing === "string" ? thing : JSON.stringify(thing, undefined, 2);
}
