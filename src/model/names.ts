/** The one mapping of names: snake_case on the wire and in settings, camelCase in the code. */

export type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

export function toCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** What is set of an input, by the names of the code. */
export type InCode<Input> = {
  [Name in keyof Input as CamelCase<Name & string>]?: NonNullable<Input[Name]>;
};

/** Fields that are null or undefined are not set, and left out. */
export function toCodeNames<Input extends object>(input: Input): InCode<Input> {
  const set = Object.entries(input).filter(([, value]: [string, unknown]) => (value ?? undefined) !== undefined);
  return Object.fromEntries(set.map(([name, value]: [string, unknown]) => [toCamelCase(name), value])) as InCode<Input>;
}

export function toWireNames(fields: object): Record<string, unknown> {
  const toSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => [toSnakeCase(name), value]),
  );
}
