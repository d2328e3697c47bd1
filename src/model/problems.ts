/** What is wrong with a field that somebody has set. */
export interface FieldProblem {
  /** The field's name on the wire: `events[1]`, `headers.Host`. */
  field: string;
  message: string;
}

/** One problem if there is a message, none without. */
export function problemAt(field: string, message: string | false | undefined): FieldProblem[] {
  return message === undefined || message === false ? [] : [{ field, message }];
}

/** The same for each text of a list. */
export function problemsIn(
  field: string,
  texts: readonly string[] | null | undefined,
  findProblem: (text: string) => string | undefined,
): FieldProblem[] {
  return (texts ?? []).flatMap((text, index) => problemAt(`${field}[${index}]`, findProblem(text)));
}

const CONTROL = /[\p{Cc}\p{Cs}]/u;

/** Lone surrogates count too. */
export function findControl(text: string): string | undefined {
  return CONTROL.test(text) ? "must not contain control characters" : undefined;
}
