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
/** What is escaped before a `p` is no class. */
const CLASS = /\\(?:([pP])\{(?:(?:General_Category|gc|Script|sc)=)?(\w+)\}|[^])/g;

/** A pattern as RE2 can read it. */
export function shortenClasses(pattern: string): string {
  return pattern.replace(CLASS, (text, kind: string | undefined, name: string) =>
    kind === undefined ? text : `\\${kind}{${CATEGORIES.get(name) ?? name}}`,
  );
}
