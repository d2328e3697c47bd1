import type { CommandNode, FlagWord } from "./command-tree.ts";

export function writeFish(nodes: readonly CommandNode[]): string {
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
