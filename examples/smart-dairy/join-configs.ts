import { parse, stringify } from "yaml";

type Config = Record<string, unknown>;

/** Two files of the example as one configuration: lists are put together, for the rest the first one decides. */
export function joinConfigs(first: string, second: string): string {
  const [one, other] = [parse(first) as Config, parse(second) as Config];
  const joined: Config = { ...other, ...one };
  for (const [name, value] of Object.entries(other)) {
    const own = one[name];
    if (Array.isArray(value) && Array.isArray(own)) joined[name] = [...(own as unknown[]), ...(value as unknown[])];
  }
  return stringify(joined);
}
