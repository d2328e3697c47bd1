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

interface CommandNode {
  readonly path: string;
  readonly commands: readonly Word[];
  readonly flags: readonly FlagWord[];
  readonly values: readonly string[];
}

interface Word {
  readonly word: string;
  readonly help: string;
}

interface FlagWord extends Word {
  /** The choices for the flag's value; empty when it takes any value, or none. */
  readonly values: readonly string[];
}

function listNodes(command: Command, parent = ""): readonly CommandNode[] {
  const path = `${parent} ${command.name()}`.trim();
  // A group without a subcommand runs its list, so it accepts the flags of the list.
  const usual = command.commands.find((one) => one.name() === "list");
  const flags = [...command.options, ...(usual?.options ?? [])].filter(({ hidden }) => !hidden).flatMap(toFlagWords);
  const node = {
    path,
    commands: command.commands.map((one) => ({ word: one.name(), help: one.description() })),
    flags,
    values: command.registeredArguments.at(-1)?.argChoices ?? [],
  };
  return [node, ...command.commands.flatMap((one) => listNodes(one, path))];
}

function toFlagWords({ long, short, description, argChoices = [] }: Option): FlagWord[] {
  return [long, short].flatMap((word) => (word ? [{ word, help: description, values: argChoices }] : []));
}

/** The bash of macOS has no associative arrays, so the script uses none. */
function writeBash(nodes: readonly CommandNode[]): string {
  const words = nodes.map(({ path, commands, flags, values }) => {
    const all = [...commands.map(({ word }) => word), ...values, ...flags.map(({ word }) => word)];
    return `    "${path}") printf '%s' "${all.join(" ")}" ;;`;
  });
  const values = nodes.flatMap(({ path, flags }) =>
    flags
      .filter((flag) => flag.values.length > 0)
      .map((flag) => `    "${path} ${flag.word}") printf '%s' "${flag.values.join(" ")}" ;;`),
  );
  return `# bash completion of posthorn
_posthorn_words() {
  case "$1" in
${words.join("\n")}
  esac
}

_posthorn_values() {
  case "$1" in
${values.join("\n")}
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
  const options = nodes.map((node) => `    "${node.path}") reply=(${listWords(node)}) ;;`);
  const values = nodes.flatMap(({ path, flags }) =>
    flags.filter((flag) => flag.values.length > 0).map((flag) => writeValues(path, flag)),
  );
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
${values.join("\n")}
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

function listWords({ commands, flags, values }: CommandNode): string {
  return [...commands, ...values.map((word) => ({ word, help: "" })), ...flags].map(toEntry).join(" ");
}

function toEntry({ word, help }: Word): string {
  return quote(help === "" ? word.replaceAll(":", "\\:") : `${word.replaceAll(":", "\\:")}:${help}`);
}

function writeValues(path: string, { word, values }: FlagWord): string {
  return `    "${path} ${word}") reply=(${values.map(quote).join(" ")}) ;;`;
}

/** Quotes a text as one word of a shell, whatever it contains. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function writeFish(nodes: readonly CommandNode[]): string {
  const lines = nodes.flatMap(({ path, commands, flags, values }) => {
    const here = `complete -c posthorn -n ${quoteForFish(`__posthorn_at "${path}"`)}`;
    return [
      ...commands.map(({ word, help }) => `${here} -f -a ${quoteForFish(word)} -d ${quoteForFish(help)}`),
      ...values.map((value) => `${here} -f -a ${quoteForFish(value)}`),
      ...flags.map((flag) => `${here} ${writeFlag(flag)}`),
    ];
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

function writeFlag({ word, help, values }: FlagWord): string {
  const name = word.startsWith("--") ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`;
  const choices = values.length === 0 ? "" : ` -x -a ${quoteForFish(values.join(" "))}`;
  return `${name} -d ${quoteForFish(help)}${choices}`;
}

/** In fish, a quote inside quotes is escaped with a backslash. */
function quoteForFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
