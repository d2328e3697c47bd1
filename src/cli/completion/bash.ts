import type { CommandNode } from "./command-tree.ts";

/** The bash of macOS has no associative arrays, so the script uses none. */
export function writeBash(nodes: readonly CommandNode[]): string {
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
