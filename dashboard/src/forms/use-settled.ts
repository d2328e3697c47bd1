import { useEffect, useState } from "react";

/** Long enough that a word is typed in one go. */
const TYPED_MS = 350;

/** The value once nobody changes it any more; compared by what is in it. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text === undefined ? value : (JSON.parse(text) as Value)), TYPED_MS);
    return () => clearTimeout(timer);
    // The text says all that is in the value.
  }, [text]);
  return settled;
}
