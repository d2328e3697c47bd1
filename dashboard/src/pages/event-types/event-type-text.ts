// Event types as the texts that they are: schemas and examples may have numbers that no value can hold.
import { itemsOf, membersOf, memberText } from "../../json/member-text.ts";
import { prettyText } from "../../json/pretty.ts";

/** What is only shown, and cannot be sent back. */
const SHOWN_ONLY: ReadonlySet<string> = new Set(["managed_by", "created_at", "updated_at"]);

/** An event type as it is sent: what is set of what the API answers. */
export function toInputText(answer: string): string {
  return prettyText(
    keepMembers(answer, (name, text) => {
      if (name !== "versions") return text;
      return `[${[...itemsOf(text)].map((version) => keepMembers(version)).join(",")}]`;
    }),
  );
}

function keepMembers(json: string, change: (name: string, text: string) => string = (_, text) => text): string {
  const kept = [...membersOf(json)].filter(([name, text]) => !SHOWN_ONLY.has(name) && text !== "null");
  return `{${kept.map(([name, text]) => `${JSON.stringify(name)}:${change(name, text)}`).join(",")}}`;
}

export interface VersionTexts {
  version: string;
  schema: string;
  /** Undefined where there is none. */
  example: string | undefined;
}

/** The schemas and examples of what the API answers, in the order of their versions. */
export function versionTextsOf(answer: string): readonly VersionTexts[] {
  return [...itemsOf(memberText(answer, "versions") ?? "[]")].map((text) => {
    const example = memberText(text, "example")?.trim();
    return {
      version: JSON.parse(memberText(text, "version") ?? '""') as string,
      schema: prettyText(memberText(text, "schema") ?? "{}"),
      example: example === undefined || example === "null" ? undefined : prettyText(example),
    };
  });
}
