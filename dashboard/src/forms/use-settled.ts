import { useEffect, useMemo, useState } from "react";

/** Long enough that a word is typed in one go. */
const TYPED_MS = 350;

/** A value that can be written as JSON, once nobody changes it any more. */
export function useSettled<Value extends object>(value: Value): Value {
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return useMemo(() => JSON.parse(settled) as Value, [settled]);
}
