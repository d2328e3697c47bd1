import type { Draft, Fault } from "../../forms/draft.ts";
import { Members } from "../../forms/schema-field.tsx";
import type { KindFields } from "./form-fields.ts";

interface DestinationSectionProps {
  kind: KindFields;
  draft: Draft;
  onChange: (draft: Draft) => void;
  fault: Fault | undefined;
}

/** So many of a kind with many settings are shown at first, beside those that it needs. */
const SHOWN = 2;

/** The settings of the chosen kind: beside the others, or in `destination`. */
export function DestinationSection({ kind, draft, onChange, fault }: DestinationSectionProps) {
  const isShown = (index: number, isRequired: boolean) => !kind.isFlat || isRequired || index < SHOWN;
  const first = kind.fields.filter(({ isRequired }, index) => isShown(index, isRequired));
  const more = kind.fields.filter(({ isRequired }, index) => !isShown(index, isRequired));
  const settings = kind.isFlat ? draft : ((draft["destination"] ?? {}) as Draft);
  const members = {
    path: kind.isFlat ? "" : "destination",
    draft: settings,
    onChange: (changed: Draft) => onChange(kind.isFlat ? changed : { ...draft, destination: changed }),
    fault,
  };
  const isWrong = more.some(({ name }) => fault?.field.startsWith(name));
  return (
    <>
      <Members {...members} fields={first} />
      {more.length > 0 && (
        <details className="more" {...(isWrong && { open: true })}>
          <summary>More about the destination</summary>
          <div className="section-body">
            <Members {...members} fields={more} />
          </div>
        </details>
      )}
    </>
  );
}
