import type { Command, Option } from "commander";
import { createProgram, fillCommands } from "./program.ts";
import { getSurroundings } from "./surroundings.ts";

const WRITERS = { bash: writeBash, zsh: writeZsh, fish: writeFish };
export type Shell = keyof typeof WRITERS;

/** Generated from the commands themselves, so that nothing is listed twice. */
export async function printCompletion(shell: Shell): Promise<void> {
  const program = createProgram();
  await fillCommands(program);
  getSurroundings().stdout.write(WRITERS[shell](listNodes(program)));
}

/** A command, a choice for an argument, or a flag with the choices for its value. */
interface Word {
  readonly word: string;
  readonly help: string;
  readonly values: readonly string[];
}

interface CommandNode {
  readonly path: string;
  readonly words: readonly Word[];
}

function listNodes(command: Command, parent = ""): readonly CommandNode[] {
  const path = `${parent} ${command.name()}`.trim();
  // A group without a subcommand runs its list, so it accepts the flags of the list.
  const usual = command.commands.find((one) => one.name() === "list");
  const options = [...command.options, ...(usual?.options ?? [])].filter(({ hidden }) => !hidden);
  const choices = command.registeredArguments.at(-1)?.argChoices ?? [];
  const words = [
    ...command.commands.map((one) => ({ word: one.name(), help: one.description(), values: [] })),
    ...choices.map((word) => ({ word, help: "", values: [] })),
    ...options.flatMap(toFlagWords),
  ];
  return [{ path, words }, ...command.commands.flatMap((one) => listNodes(one, path))];
}

function toFlagWords({ long, short, description, argChoices = [] }: Option): Word[] {
  return [long, short].flatMap((word) => (word ? [{ word, help: description, values: argChoices }] : []));
}

/** A line for each flag whose values are known. */
function listValues(
  nodes: readonly CommandNode[],
  write: (place: string, values: readonly string[]) => string,
): string {
  const lines = nodes.flatMap(({ path, words }) =>
    words.flatMap(({ word, values }) => (values.length > 0 ? [write(`${path} ${word}`, values)] : [])),
  );
  return lines.join("\n");
}

/** The bash of macOS has no associative arrays, so the script uses none. */
function writeBash(nodes: readonly CommandNode[]): string {
  const writeCase = (place: string, words: readonly string[]) => `    "${place}") printf '%s' "${words.join(" ")}" ;;`;
  const words = nodes.map(({ path, words: all }) =>
    writeCase(
      path,
      all.map(({ word }) => word),
    ),
  );
  return `# bash completion of posthorn
_posthorn_words() {
  case "$1" in
${words.join("\n")}
  esac
}

_posthorn_values() {
  case "$1" in
${listValues(nodes, writeCase)}
  esac
}

_posthorn() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="posthorn" words values i
  for ((i = 1; i < COMP_CWORD; i++)); do
    words="$(_posthorn_words "$path \${COMP_WORDS[i]}")"
    if [ -n "$words" ]; then path="$path \${COMP_WORDS[i]}"; fi
  done
  values="$(_posthorn_values "$path \${COMP_WORDS[COMP_CWORD-1]}")"
  COMPREPLY=($(compgen -W "\${values:-$(_posthorn_words "$path")}" -- "$current"))
}

complete -o default -F _posthorn posthorn
`;
}

/** `words` and `CURRENT` are variables of zsh: the typed words, and the index of the word to complete. */
function writeZsh(nodes: readonly CommandNode[]): string {
  const writeCase = (place: string, entries: readonly string[]) => `    "${place}") reply=(${entries.join(" ")}) ;;`;
  const options = nodes.map(({ path, words }) => writeCase(path, words.map(toEntry)));
  return `#compdef posthorn
_posthorn_options() {
  reply=()
  case "$1" in
${options.join("\n")}
  esac
}

_posthorn_values() {
  reply=()
  case "$1" in
${listValues(nodes, (place, values) => writeCase(place, values.map(quote)))}
  esac
}

_posthorn() {
  local -a reply
  local line=posthorn i
  for ((i = 2; i < CURRENT; i++)); do
    _posthorn_options "$line \${words[i]}"
    if (( \${#reply} > 0 )); then line="$line \${words[i]}"; fi
  done
  _posthorn_values "$line \${words[CURRENT-1]}"
  if (( \${#reply} > 0 )); then
    compadd -a reply
    return
  fi
  _posthorn_options "$line"
  _describe posthorn reply
}

if [ "\${funcstack[1]}" = _posthorn ]; then _posthorn "$@"; else compdef _posthorn posthorn; fi
`;
}

function toEntry({ word, help }: Word): string {
  return quote(help === "" ? word.replaceAll(":", "\\:") : `${word.replaceAll(":", "\\:")}:${help}`);
}

/** Quotes a text as one word of a shell, whatever it contains. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function writeFish(nodes: readonly CommandNode[]): string {
  const lines = nodes.flatMap(({ path, words }) => {
    const here = `complete -c posthorn -n ${quoteForFish(`__posthorn_at "${path}"`)}`;
    return words.map((word) => `${here} ${writeFishWord(word)}`);
  });
  return `# fish completion of posthorn
set -g __posthorn_paths ${nodes.map(({ path }) => quoteForFish(path)).join(" ")}

function __posthorn_at --description 'True when the typed words name this command'
    set -l line posthorn
    set -l typed (commandline -opc)
    for word in $typed[2..-1]
        if contains -- "$line $word" $__posthorn_paths
            set line "$line $word"
        end
    end
    test "$line" = "$argv[1]"
end

${lines.join("\n")}
`;
}

function writeFishWord({ word, help, values }: Word): string {
  const hint = help === "" ? "" : ` -d ${quoteForFish(help)}`;
  if (!word.startsWith("-")) return `-f -a ${quoteForFish(word)}${hint}`;
  const name = word.startsWith("--") ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`;
  return `${name}${hint}${values.length === 0 ? "" : ` -x -a ${quoteForFish(values.join(" "))}`}`;
}

/** In fish, a quote inside quotes is escaped with a backslash. */
function quoteForFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
