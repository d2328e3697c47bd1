import { useEffect, useRef } from "react";
import { Button } from "../ui/button.tsx";
import { ValueText } from "../ui/value-text.tsx";
import { isSame, type Draft } from "./draft.ts";
import { labelOf } from "./field-name.ts";

interface ConflictPanelProps {
  /** What was changed here. */
  mine: Draft;
  /** As it was when the form was opened, and as somebody else left it. */
  before: Draft;
  theirs: Draft;
  isBusy: boolean;
  onOverwrite: () => void;
  onTakeTheirs: () => void;
}

/** Somebody else saved first: both versions, and a choice. */
export function ConflictPanel({ mine, before, theirs, isBusy, onOverwrite, onTakeTheirs }: ConflictPanelProps) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    // Some browsers answer with a promise, which React would take for a way to clean up.
    place.current?.scrollIntoView({ block: "center" });
  }, []);
  const names = new Set([...Object.keys(mine), ...Object.keys(before), ...Object.keys(theirs)]);
  const rows = [...names].filter((name) => name in mine || !isSame(before[name], theirs[name]));
  return (
    <section ref={place} className="card conflict" role="alert" aria-label="Somebody else changed it">
      <h2>Somebody else changed it meanwhile</h2>
      <p className="muted">Nothing is saved yet. Compare both versions and choose.</p>
      <div className="table-card">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Setting</th>
              <th scope="col">Your version</th>
              <th scope="col">Saved now</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((name) => (
              <tr key={name}>
                <th scope="row">{labelOf(name)}</th>
                <td>{name in mine ? <Shown value={mine[name]} /> : <span className="muted">as saved</span>}</td>
                <td>
                  <Shown value={theirs[name]} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div className="page-acts">
        <Button kind="primary" isBusy={isBusy} onClick={onOverwrite}>
          Save my changes on top
        </Button>
        <Button onClick={onTakeTheirs}>Discard my changes</Button>
      </div>
    </section>
  );
}

function Shown({ value }: { value: unknown }) {
  return value === undefined || value === null ? <span className="muted">not set</span> : <ValueText value={value} />;
}
