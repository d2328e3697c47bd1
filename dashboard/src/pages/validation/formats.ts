import type { Format } from "./validation-queries.ts";

export const FORMAT_WORDS: Readonly<Record<Format, string>> = { json: "JSON Schema or rules", xsd: "XML Schema" };
export const LANGUAGES = { json: "json", xsd: "xml" } as const satisfies Readonly<Record<Format, string>>;

/** What a new document begins with. */
export const FIRST_DOCUMENT: Readonly<Record<Format, string>> = {
  json: `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "required": ["id"],
  "properties": {
    "id": { "type": "integer" }
  }
}
`,
  xsd: `<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="order">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="id" type="xs:integer"/>
      </xs:sequence>
    </xs:complexType>
  </xs:element>
</xs:schema>
`,
};
export const FIRST_PAYLOAD: Readonly<Record<Format, string>> = {
  json: '{\n  "id": 1001\n}\n',
  xsd: "<order>\n  <id>1001</id>\n</order>\n",
};

export const TABS = { document: "Document", edit: "Edit", versions: "Versions", try: "Try" };
export type Tab = keyof typeof TABS;

/** The page of one validation: which format and which part of it stand in the address. */
export function hrefOf(endpoint: string, format: Format, tab: Tab = "document"): string {
  const query = new URLSearchParams();
  if (format !== "json") query.set("format", format);
  if (tab !== "document") query.set("show", tab);
  const text = query.toString();
  return `/validation/${encodeURIComponent(endpoint)}${text === "" ? "" : `?${text}`}`;
}
