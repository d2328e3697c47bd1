/** One of a few, all of them in sight. */
export function Segmented<Value extends string>(props: {
  label: string;
  options: Readonly<Record<Value, string>>;
  value: Value;
  onChange: (value: Value) => void;
}) {
  const { label, options, value, onChange } = props;
  return (
    <div className="segmented" role="group" aria-label={label}>
      {(Object.entries(options) as [Value, string][]).map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {text}
        </button>
      ))}
    </div>
  );
}
