/**
 * Recognises the names of counties. It isn't known which hospitals are in a county. The pages' code uses this file in
 * browsers, so the file imports nothing.
 */

const kinds: ReadonlySet<string> = new Set(["county", "counties", "parish"]);

export const isCountyWord = (word: string): boolean => kinds.has(word);

/** Whether words have the form of a county's name without its state: `sangamon county`. Only the last word is compared. */
export const isCounty = (words: readonly string[]): boolean =>
  words.length > 1 && isCountyWord(words[words.length - 1]);

/**
 * Whether words have the form of a county's name, perhaps with its state after or before it: `sangamon county il`.
 * @param words in lower case
 * @param isState whether words are a state's code or name
 */
export const isCountyNamed = (
  words: readonly string[],
  isState: (words: readonly string[]) => boolean,
): boolean =>
  isCounty(words) || words.some((_, at) => isCounty(words.slice(0, at)) && isState(words.slice(at)));
