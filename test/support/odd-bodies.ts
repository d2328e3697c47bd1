import type { Random } from "../../src/model/clock.ts";

/** A body as some sender might write it. All of them are acceptable. */
export interface OddBody {
  kind: "json" | "xml" | "other";
  contentType: string | undefined;
  body: Buffer<ArrayBuffer>;
}

const SPACES = ["", "", " ", "\n", "\r\n", "\t", "  \n\t "];
const NUMBERS = [
  "0",
  "-0",
  "1e999",
  "9007199254740993",
  "12345678901234567890123",
  "0.1000",
  "-1.5E+10",
  "1E-400",
  "1.0",
];
const TEXTS = [
  '""',
  '"a"',
  '"\\u0000"',
  '"\\ud83d\\ude00"',
  '"\\ud800"',
  '"\u2028\u2029"',
  '"é"',
  '"e\u0301"',
  '"\u{1f600}"',
  '"\\/\\"\\\\"',
  '"\ufffd"',
  '"</script>"',
  '"\u007f"',
  '"\ufeff"',
];
const NAMES = ['"id"', '"id"', '"a"', '"__proto__"', '"constructor"', '""', '"\\u0069d"', '"data"', '"webhook_id"'];
const MARKUP = [
  "text",
  "&lt;&amp;",
  "&#x1F600;",
  "<![CDATA[<raw>&]]>",
  "<!-- note -->",
  "<b/>",
  "<c a='1' b=\"2\"> </c>",
  "é",
  "\r\n",
];

export function createOddBodies(random: Random): () => OddBody {
  const below = (limit: number) => Math.floor(random.next() * limit);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const space = () => pick(SPACES);
  const many = (max: number, make: () => string) => Array.from({ length: below(max + 1) }, make);

  function value(depth: number): string {
    switch (below(depth > 4 ? 3 : 6)) {
      case 0:
        return pick(NUMBERS);
      case 1:
        return pick(TEXTS);
      case 2:
        return pick(["true", "false", "null"]);
      case 3:
        return `[${space()}${many(4, () => space() + value(depth + 1) + space()).join(",")}]`;
      default:
        return `{${space()}${many(5, () => space() + pick(NAMES) + space() + ":" + space() + value(depth + 1)).join(",")}${space()}}`;
    }
  }

  function json(): OddBody {
    const mark = below(20) === 0 ? "\ufeff" : "";
    const contentType = pick(["application/json", "application/json; charset=utf-8", "application/vnd.odd+json"]);
    return { kind: "json", contentType, body: Buffer.from(mark + space() + value(0) + space()) };
  }

  function xml(): OddBody {
    const prolog = pick([
      "",
      '<?xml version="1.0"?>',
      '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n',
      "\ufeff",
    ]);
    const text = `${prolog}<r xmlns="urn:odd">${many(6, () => pick(MARKUP)).join("")}</r>${pick(["", "\n", "<!-- end -->"])}`;
    return {
      kind: "xml",
      contentType: pick(["application/xml", "text/xml; charset=utf-8", "image/svg+xml"]),
      body: Buffer.from(text),
    };
  }

  function other(): OddBody {
    const types = [
      "application/octet-stream",
      "text/plain",
      "application/x-www-form-urlencoded",
      "application/x-protobuf",
    ];
    const length = pick([0, 1, 2, 17, 500, 16_384, 16_385, 20_000]);
    const bytes = below(2) === 0 ? random.bytes(length) : Buffer.from("plain words\0é\n".repeat(length / 14));
    return { kind: "other", contentType: pick(types), body: Buffer.from(bytes) };
  }

  return () => pick([json, json, json, xml, other, other])();
}
