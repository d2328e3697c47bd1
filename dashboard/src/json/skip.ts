// Steps over parts of JSON text, without recursion: it may be nested as deeply as somebody likes.

export function skipSpace(json: string, from: number): number {
  let at = from;
  while (at < json.length && json.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** From a quote to behind the one that ends the string. */
export function skipString(json: string, from: number): number {
  let at = from + 1;
  while (at < json.length) {
    const sign = json[at];
    if (sign === '"') return at + 1;
    at += sign === "\\" ? 2 : 1;
  }
  return json.length;
}

/** A number, or a word such as `true`. */
export function skipWord(json: string, from: number): number {
  let at = from;
  while (at < json.length && /[^\s,:{}[\]"]/.test(json[at] as string)) at++;
  return Math.max(at, from + 1);
}

export function skipValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    const sign = json[at] as string;
    if (sign === '"') at = skipString(json, at);
    else if (sign === "{" || sign === "[") {
      depth++;
      at++;
    } else if (sign === "}" || sign === "]") {
      depth--;
      at++;
    } else if (/[\s,:]/.test(sign)) at++;
    else at = skipWord(json, at);
    if (depth === 0) return at;
  }
  return at;
}
