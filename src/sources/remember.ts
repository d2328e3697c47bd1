const MAX_REMEMBERED = 1000;

/** Caches values by keys that repeat from request to request. Is cleared when it grows too large. */
export function remember<Made, Key extends string | number = string>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined || made.has(key)) return known as Made;
    const fresh = make(key);
    if (made.size >= MAX_REMEMBERED) made.clear();
    made.set(key, fresh);
    return fresh;
  };
}
