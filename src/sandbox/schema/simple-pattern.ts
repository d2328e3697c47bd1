/** A class of ASCII characters, `\d`, an escaped character, or a literal one. */
const ATOM = /\[\^?(?:[A-Za-z0-9_ .,:;@#%&/+=-])+\]|\\[d.+*?()[\]{}|^$/\\]|[A-Za-z0-9_ ,:;@#%&/=~"'<>!-]/y;
const QUANTIFIER = /[?*+]|\{(\d{1,4})(,(\d{1,4})?)?\}/y;
/** The allowed number of ways to split a text among the parts of a pattern, apart from its length. */
const MAX_WAYS = 64;

/**
 * In how many ways JavaScript's own engine may try to match each character of a text, where that has a bound: the
 * pattern is tied to the beginning, has neither groups nor alternatives, and at most one part whose length is open.
 * Then that engine takes linear time as well, a tenth of what RE2 takes here; nearly all patterns of codes, amounts and
 * names are so. Undefined for all others. With an open part (`isOpen`) all that follows may be tried at each character.
 */
export function findWays(pattern: string): { ways: number; isOpen: boolean } | undefined {
  if (!pattern.startsWith("^")) return undefined;
  let at = 1;
  let ways = 1;
  let isOpen = false;
  const take = (expression: RegExp): RegExpExecArray | null => {
    expression.lastIndex = at;
    const found = expression.exec(pattern);
    if (found !== null) at = expression.lastIndex;
    return found;
  };
  while (at < pattern.length) {
    if (pattern[at] === "$") return at === pattern.length - 1 ? { ways, isOpen } : undefined;
    if (take(ATOM) === null) return undefined;
    const quantifier = take(QUANTIFIER);
    if (quantifier === null) continue;
    const [text, least, hasMost, most] = quantifier;
    const isUnbounded = text === "*" || text === "+" || (hasMost !== undefined && most === undefined);
    if (isUnbounded && isOpen) return undefined;
    isOpen ||= isUnbounded;
    if (text === "?") ways *= 2;
    else if (most !== undefined) ways *= Number(most) - Number(least) + 1;
    if (ways > MAX_WAYS || ways < 1) return undefined;
  }
  return { ways, isOpen };
}

/** Unicode's general categories by the long names that ECMAScript knows too; RE2 knows only the short ones. */
const CATEGORIES: ReadonlyMap<string, string> = new Map(
  `Letter L, Cased_Letter LC, Uppercase_Letter Lu, Lowercase_Letter Ll, Titlecase_Letter Lt, Modifier_Letter Lm,
  Other_Letter Lo, Mark M, Combining_Mark M, Nonspacing_Mark Mn, Spacing_Mark Mc, Enclosing_Mark Me, Number N,
  Decimal_Number Nd, digit Nd, Letter_Number Nl, Other_Number No, Punctuation P, punct P, Connector_Punctuation Pc,
  Dash_Punctuation Pd, Open_Punctuation Ps, Close_Punctuation Pe, Initial_Punctuation Pi, Final_Punctuation Pf,
  Other_Punctuation Po, Symbol S, Math_Symbol Sm, Currency_Symbol Sc, Modifier_Symbol Sk, Other_Symbol So,
  Separator Z, Space_Separator Zs, Line_Separator Zl, Paragraph_Separator Zp, Other C, Control Cc, cntrl Cc, Format Cf,
  Surrogate Cs, Private_Use Co, Unassigned Cn`
    .split(",")
    .map((pair) => pair.trim().split(" ") as [string, string]),
);
/** An escaped backslash before a `p` does not begin a class. */
const CLASS = /\\(?:([pP])\{(?:(?:General_Category|gc|Script|sc)=)?(\w+)\}|[^])/g;

/** Rewrites a pattern for RE2. */
export function shortenClasses(pattern: string): string {
  return pattern.replace(CLASS, (text, kind: string | undefined, name: string) =>
    kind === undefined ? text : `\\${kind}{${CATEGORIES.get(name) ?? name}}`,
  );
}
