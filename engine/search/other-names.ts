import { linesOf } from "./data.ts";
import { indexWords, meaningOf } from "./text.ts";
import { fillerWords, genericWords } from "./vocabulary.ts";

/** CCN → unofficial names of the hospital. */
export const otherNames: ReadonlyMap<string, string[]> = new Map(
  linesOf("hospital-names.txt").map((line) => [
    line.slice(0, 6),
    line.slice(7, line.indexOf(" | ")).split(", "),
  ]),
);

/** Health systems. `ccns` are their hospitals whose names lack the system's name. */
export const systems: readonly { name: string; ccns: readonly string[] }[] = linesOf(
  "health-systems.txt",
).map((line) => {
  const [name, ccns] = line.split(" | ");
  return { name, ccns: ccns.split(" ") };
});

/** Words of a hospital's systems, by CCN. */
const systemWords = new Map<string, string[]>();
for (const { name, ccns } of systems)
  for (const ccn of ccns) systemWords.set(ccn, [...(systemWords.get(ccn) ?? []), ...indexWords(name)]);

/** Returns the words of a hospital's unofficial names and of its systems. */
export function wordsBesideName(ccn: string): string[] {
  return [...(otherNames.get(ccn) ?? []).flatMap(indexWords), ...(systemWords.get(ccn) ?? [])];
}

/** The result has the positions with generic words such as hospital, then without them. */
function significant(words: readonly string[]): number[][] {
  const all = [...words.keys()].filter((i) => !fillerWords.has(words[i]));
  return [all, all.filter((i) => !genericWords.facility.has(meaningOf(words[i])))];
}

/**
 * A key is the name's words without filler words, separated by spaces. If two or more words are left without generic
 * words, such as hospital, these words are a second key.
 */
function hospitalsByWords(): { hospitals: Map<string, string>; mostWords: number } {
  const hospitals = new Map<string, string>();
  let mostWords = 0;
  for (const [ccn, names] of otherNames)
    for (const words of names.map(indexWords)) {
      const [all, specific] = significant(words).map((positions) => positions.map((i) => words[i]));
      // A county alone isn't its hospital.
      const isSpecific = specific.length > 1 && specific.at(-1) !== "county";
      for (const key of isSpecific ? [all, specific] : [all]) hospitals.set(key.join(" "), ccn);
      mostWords = Math.max(mostWords, all.length);
    }
  return { hospitals, mostWords };
}

/** Making this takes 10 ms, and many threads never search for a facility. */
let known: ReturnType<typeof hospitalsByWords> | undefined;

/**
 * Finds the longest unofficial name of a hospital in a query. Returns the hospital's CCN and the positions of the
 * name's words, or undefined if there is none.
 */
export function otherNameIn(
  words: readonly string[],
): { ccn: string; positions: readonly number[] } | undefined {
  known ??= hospitalsByWords();
  const { hospitals, mostWords } = known;
  const meant = words.map(meaningOf);
  const forms = significant(words);
  for (let length = mostWords; length > 0; length--)
    for (const positions of forms)
      for (let start = 0; start + length <= positions.length; start++) {
        const span = positions.slice(start, start + length);
        const ccn = hospitals.get(span.map((i) => meant[i]).join(" "));
        if (ccn !== undefined) return { ccn, positions: span };
      }
  return undefined;
}
