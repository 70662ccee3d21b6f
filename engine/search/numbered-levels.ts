/** Reads the levels in names of procedure groups: `Level 3`, `level three`, `lvl III` and `L3` are the word `level3`. */

const levelWord = /^(level|levels|lvl|lev|levle|leval|lvel)$/;
const numbers = new Map(
  ["1 one i first 1st", "2 two ii second 2nd", "3 three iii third 3rd", "4 four iv fourth 4th"]
    .concat([
      "5 five v fifth 5th",
      "6 six vi sixth 6th",
      "7 seven vii seventh 7th",
      "8 eight viii eighth 8th",
    ])
    .flatMap((line) => line.split(" ").map((word): [string, string] => [word, line[0]])),
);
const ordinal = /(st|nd|rd|th)$/;

/** Joins the word level and its number. @param words in small letters */
export function withLevels(words: readonly string[]): string[] {
  const joined: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const [word, next] = [words[at], words[at + 1] ?? ""];
    const [first, second] = [numbers.get(word), numbers.get(next)];
    const isLast = at + 2 >= words.length || numbers.get(words[at + 2]) === undefined;
    if (levelWord.test(word) && second !== undefined && !ordinal.test(next)) joined.push(`level${second}`);
    else if (first !== undefined && ordinal.test(word) && levelWord.test(next) && isLast)
      joined.push(`level${first}`);
    else {
      joined.push(
        levelWord.test(word) ? "level" : /^(lvl|lev|level)[1-8]$/.test(word) ? `level${word.at(-1)}` : word,
      );
      continue;
    }
    at++;
  }
  return joined;
}

/** A word such as `l3`, which means a level of a procedure group or a vertebra. */
export const levelOrVertebra = /^l([1-8])$/;
