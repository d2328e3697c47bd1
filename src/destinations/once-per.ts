/** What `build` makes is made once for each key, and kept for as long as the key. */
export function oncePer<Key extends object, Made extends object>(build: (key: Key) => Made): (key: Key) => Made {
  const known = new WeakMap<Key, Made>();
  return (key) => {
    let made = known.get(key);
    if (made === undefined) known.set(key, (made = build(key)));
    return made;
  };
}
