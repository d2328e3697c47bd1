/** The only place that reads the environment of the process. */

export type Environment = Readonly<Record<string, string | undefined>>;

export function readEnvironment(): Environment {
  return Object.freeze({ ...process.env });
}
