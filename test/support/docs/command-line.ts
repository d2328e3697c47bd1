/** The words of each command in a text for a shell: quotes and continued lines as a shell reads them, the rest is plain. */
export function splitCommands(script: string): readonly (readonly string[])[] {
  const commands: (readonly string[])[] = [];
  let words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  const endWord = () => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endCommand = () => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  for (let at = 0; at < script.length; at += 1) {
    const character = script[at] ?? "";
    if (quote !== undefined) {
      if (character === quote) quote = undefined;
      else word = (word ?? "") + character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (character === "\\" && script[at + 1] === "\n") at += 1;
    else if (character === "#" && word === undefined) {
      const end = script.indexOf("\n", at);
      at = end < 0 ? script.length : end - 1;
    } else if (character === "$" && script[at + 1] === "(") {
      // What is run inside stands for a word outside.
      endWord();
      const end = script.indexOf(")", at);
      commands.push(...splitCommands(script.slice(at + 2, end)));
      word = "$()";
      at = end;
    } else if ("\n;|&()".includes(character)) endCommand();
    else if (character === " ") endWord();
    else word = (word ?? "") + character;
  }
  endCommand();
  return commands;
}
