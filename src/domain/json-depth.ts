/** Level by level: a value may be nested deeper than any function may call itself, or JSON.stringify can follow. */
export function isDeeperThan(value: unknown, maxDepth: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    const next: unknown[] = [];
    for (const one of level) {
      if (typeof one !== "object" || one === null) continue;
      for (const inner of Object.values(one)) if (typeof inner === "object" && inner !== null) next.push(inner);
    }
    level = next;
  }
  return false;
}
