import type { CommandNode, FlagWord, Word } from "./command-tree.ts";
import { quote } from "./quote.ts";

/** `words` and `CURRENT` are variables of zsh: the typed words, and the index of the word to complete. */
export function writeZsh(nodes: readonly CommandNode[]): string {
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

/** A colon separates a word from its help. */
function toEntry({ word, help }: Word): string {
  return quote(help === "" ? word.replaceAll(":", "\\:") : `${word.replaceAll(":", "\\:")}:${help}`);
}

function writeValues(path: string, { word, values }: FlagWord): string {
  return `    "${path} ${word}") reply=(${values.map(quote).join(" ")}) ;;`;
}
