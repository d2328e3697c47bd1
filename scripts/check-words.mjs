// `npm run check -- words`: words that readers from other countries do not know, or that mean two things here, each with
// what to write instead. Code is read as a whole: names, messages, help, comments; tests by their titles only.
// Usage: node scripts/check-words.mjs [root]
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** For pages and code. */
const PHRASES = [
  [/\bthere is no such thing\b/gi, "not found, with the name of the thing"],
  [/\bthat is none\b/gi, "that is not a …, an invalid …"],
  [/\bwhat opens a door\b/gi, "credentials"],
  [/\bhow the gateway is\b/gi, "the state of the gateway"],
  [/\boblivion\b/gi, "is deleted"],
  [/\bcomes? into being\b/gi, "is created"],
  [/\b1 (?:subscriptions|deliveries|events|sources)\b/g, "1 subscription"],
  [/\btried again by itself\b/gi, "retried automatically"],
];

/** For code only. A name such as `refuseTooLong` is read as `refuse Too Long`. */
const WORDS = [
  [/\brefus(?:e|es|ed|ing|als?)\b/gi, "reject, rejection"],
  [/\b(?:un)?judg(?:e|es|ed|ing|e?ments?)\b/gi, "check, decide, result"],
  [/\bwish(?:es|ed|ing)?\b/gi, "request"],
  [/\bwho(?:m)?ever\b/gi, "the person: the caller, an operator, each reader"],
  [/\bta(?:ke|kes|ken|king) In\b/g, "accept"],
  [/\bnot(?:ed|ing)\b|\bnotes? [A-Z]|\bnote\(/g, "record"],
  [/\btell(?:\(| [A-Z])/g, "print, notify, show"],
  [/\bgraveyard\b/gi, "what is kept there: parked messages, deleted rows"],
  [/\blandings?\b/gi, "value, insertion"],
  [/\bdoors?\b/gi, "secret, route, listener"],
  [/\bdeeds?\b/gi, "action"],
  [/\bobedience\b|\bobey(?:s|ed)?\b/gi, "handle, follow"],
  [/\bborn\b|\bbirths?\b/gi, "created, insert"],
  [/\b(?:Saying|Occasion)s?\b|\bSoon</g, "signal, MaybePromise, event"],
  [/\b(?:interface|type|class) Place\b(?! [A-Z])/g, "say of what: position, schema place, slot"],
];

/** Not looked at: names of the API, which stay, and what operating systems say. */
const LEFT_OUT = [
  /\brefuse_replays\b|\brefused_(?:requests_days|for_address)\b|\brefusedRequestsDays\b/g,
  /(["'`])refused\1|\brefused:|\breason=refused\b/g,
  /\bconnections? (?:is |was |are )?refused\b|\brefuses? (?:the |a )?connections?\b/gi,
  // Until the audit log, the store and the API have other names for these.
  /\b(?:authors|trail)\.note\(|\bnoteRequestReplay\b|\bNoteServerError\b/g,
];

/** Rooms that still have words of the list. A room that has none any more comes off. */
const NOT_YET = [
  "plugins/",
  "src/api/",
  "src/cli/",
  "src/deliver/",
  "src/destinations/",
  "src/intake/",
  "src/model/",
  "src/queues/",
  "src/resources/",
  "src/store/",
  "src/plugin.ts",
];

const CODE = ["src", "dashboard/src", "sdk/src", "plugins", "scripts"];
const TESTS = ["test"];
const PAGES = ["docs", "examples", "sdk", "bench"];
/** Old releases stay as they were written; the others name the words themselves. */
const SKIPPED = ["CHANGELOG.md", "CONTRIBUTING.md", "scripts/check-words.mjs", "test/unit/scripts/check-words.test.ts"];
/** A string that is the first argument: of `it`, or of what `it.each(…)` returns. */
const TITLE = /(?:\b(?:describe|it|test)|\))\(\s*(["'`])((?:\\.|(?!\1).)*)\1/gs;

const root = process.argv[2] ?? dirname(dirname(fileURLToPath(import.meta.url)));

function listFiles(folder, ending) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => !/\b(?:node_modules|dist|generated)\//.test(path) && !SKIPPED.includes(path));
}

function findWords(path, text, rules, firstLine = 1) {
  const known = LEFT_OUT.reduce((rest, pattern) => rest.replaceAll(pattern, ""), text);
  const plain = known.replaceAll(/(?<=[a-z0-9])(?=[A-Z])|_/g, " ");
  return rules.flatMap(([pattern, instead]) =>
    [...plain.matchAll(pattern)].map(({ 0: word, index }) => ({
      path,
      message: `${path}:${firstLine + countLines(plain.slice(0, index))}: "${word}"; write: ${instead}`,
    })),
  );
}

const countLines = (text) => text.split("\n").length - 1;
const read = (path) => readFileSync(join(root, path), "utf8");
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith(".md") && !SKIPPED.includes(name)),
  ...PAGES.flatMap((folder) => listFiles(folder, /\.md$/)),
];
const code = CODE.flatMap((folder) => listFiles(folder, /\.(?:ts|tsx|mjs|sql)$/));
const tests = TESTS.flatMap((folder) => listFiles(folder, /\.test\.tsx?$/));
const found = [
  ...pages.flatMap((path) => findWords(path, read(path), PHRASES)),
  ...code.flatMap((path) => findWords(path, read(path), [...PHRASES, ...WORDS])),
  ...tests.flatMap((path) => {
    const text = read(path);
    return [...text.matchAll(TITLE)].flatMap(({ 0: call, 2: title, index }) =>
      findWords(path, title, WORDS, 1 + countLines(text.slice(0, index)) + countLines(call)),
    );
  }),
];

const complaints = found.filter(({ path }) => !NOT_YET.some((room) => path.startsWith(room)));
const clean = NOT_YET.filter((room) => !found.some(({ path }) => path.startsWith(room)));
process.stdout.write(
  [
    ...complaints.map(({ message }) => message),
    ...clean.map((room) => `${room} has no such word any more: take it off the list in scripts/check-words.mjs`),
    `${pages.length} pages, ${code.length} files of code, ${tests.length} of tests read`,
  ]
    .map((line) => `${line}\n`)
    .join(""),
);
process.exitCode = complaints.length === 0 ? 0 : 1;
