import type { EventWithDeliveries } from "../../api/types.ts";
import { useMay } from "../../session/use-may.ts";
import { Badge } from "../../ui/badge.tsx";
import { useReceivers } from "./use-receivers.ts";

interface RecipientsProps {
  event: EventWithDeliveries;
  /** Undefined for every subscription that wants it. */
  value: readonly string[] | undefined;
  onChange: (ids: readonly string[] | undefined) => void;
}

/** Who gets an edited event: all subscribers, or only those who are chosen. */
export function Recipients({ event, value, onChange }: RecipientsProps) {
  const all = useReceivers(event).receivers ?? [];
  const mayUse = useMay("use");
  const had = event.deliveries.filter(
    ({ subscription_name: name, subscription_id: id }) => name !== null && mayUse(id),
  );
  const dead = had.filter(({ status }) => status === "dead");
  const isHad = (id: string) => had.some(({ subscription_id: other }) => other === id);
  const added = all.filter(({ id }) => value?.includes(id) === true && !isHad(id));
  const others = all.filter(({ id }) => value?.includes(id) !== true && !isHad(id));
  const idsOf = (deliveries: typeof had) => deliveries.map(({ subscription_id: id }) => id);
  const set = (id: string, isChosen: boolean) =>
    onChange(isChosen ? [...(value ?? []), id] : value?.filter((other) => other !== id));
  const choice = (id: string, name: string | null, status?: string) => (
    <label key={id} className="check">
      <input
        type="checkbox"
        checked={value?.includes(id) === true}
        onChange={({ target }) => set(id, target.checked)}
      />
      <span>
        {name} {status !== undefined && <Badge state={status} />}
      </span>
    </label>
  );
  return (
    <fieldset className="choices">
      <legend>Who gets it</legend>
      <label className="check">
        <input type="radio" name="recipients" checked={value === undefined} onChange={() => onChange(undefined)} />
        <span>Every subscription that wants it</span>
      </label>
      <label className="check">
        <input
          type="radio"
          name="recipients"
          checked={value !== undefined}
          onChange={() => onChange(idsOf(dead.length > 0 ? dead : had))}
        />
        <span>Only those chosen here</span>
      </label>
      {value !== undefined && (
        <div className="choices choices-inside">
          {had.map(({ subscription_id: id, subscription_name: name, status }) => choice(id, name, status))}
          {added.map(({ id, name }) => choice(id, name))}
          {others.length > 0 && (
            <select
              className="input"
              aria-label="Add another subscription"
              value=""
              onChange={({ target }) => set(target.value, true)}
            >
              <option value="">Add another …</option>
              {others.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </div>
      )}
    </fieldset>
  );
}
