/** Finds the known name that a misspelt name was probably meant to be. */
function findNearestName(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Math.min(3, Math.ceil(name.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const edits = countEdits(name.toLowerCase(), candidate.toLowerCase());
    if (edits < least) {
      least = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

export function suggestName(name: string, known: readonly string[]): string {
  const nearest = findNearestName(name, known);
  return nearest === undefined ? "" : `; did you mean ${nearest}?`;
}

function countEdits(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
