const MAX_REMEMBERED = 1000;

/** Keeps what was made of a text, for texts that repeat from request to request. Forgets all when it grows too large. */
export function remember<Made>(make: (text: string) => Made): (text: string) => Made {
  const made = new Map<string, Made>();
  return (text) => {
    const known = made.get(text);
    if (known !== undefined || made.has(text)) return known as Made;
    const fresh = make(text);
    if (made.size >= MAX_REMEMBERED) made.clear();
    made.set(text, fresh);
    return fresh;
  };
}
