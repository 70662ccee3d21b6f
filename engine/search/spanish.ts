import { paragraphsOf } from "./data.ts";
import type { DocumentKind } from "./text-index.ts";

/** Reads Spanish words of a search as English ones. The words are in `data/spanish.txt`. */

type Phrases = ReadonlyMap<string, readonly string[]>;

/** A phrase's words with spaces. Articles within it may be missing: `estimulador de (la) medula`. */
const phraseOf = ([first, ...others]: readonly string[]) =>
  [first, ...others.map((word) => (word === "del" ? "de" : word)).filter((word) => !articles.has(word))].join(
    " ",
  );

const articles: ReadonlySet<string> = new Set(["el", "la", "los", "las"]);

const phrasesIn = (paragraphs: readonly string[]): Phrases =>
  new Map(
    paragraphs.flatMap((paragraph) =>
      paragraph.split("\n").flatMap((line) => {
        const [spanish, english] = line.split(":");
        const words = english.split(" ").filter((word) => word !== "");
        return spanish.split(", ").map((phrase): [string, string[]] => [phraseOf(phrase.split(" ")), words]);
      }),
    ),
  );

const [forHospitals, forBoth, smallForHospitals, smallForProcedures, forProcedures, saints] =
  paragraphsOf("spanish.txt");
const phrases = {
  facility: phrasesIn([forHospitals, forBoth]),
  procedure: phrasesIn([forBoth, forProcedures]),
} as const;
const smallWords = {
  facility: phrasesIn([smallForHospitals]),
  procedure: phrasesIn([smallForProcedures]),
} as const;

const saintsNames = phrasesIn([saints]);

const mostWords = 5;

/**
 * Replaces the Spanish phrases among words by English words, the longest first, except small words such as `de`. Words
 * that are English or that the directory has in names stay.
 *
 * @param words in small letters, without accents
 * @param isName whether the directory has a word
 */
export function inEnglish(
  kind: DocumentKind,
  words: readonly string[],
  isName: (word: string) => boolean,
): readonly string[] {
  return replaced(words, phrases[kind], isName);
}

/** Leaves out small Spanish words. Many are words of names too, so call this only beside other Spanish words. */
export function withoutSmallWords(kind: DocumentKind, words: readonly string[]): readonly string[] {
  return replaced(words, smallWords[kind], () => false);
}

/** Replaces Spanish names of saints, which may also be cities, by English ones. Returns undefined if there is none. */
export function saintsInEnglish(words: readonly string[]): readonly string[] | undefined {
  const english = replaced(words, saintsNames, () => false);
  return english.some((word, i) => word !== words[i]) ? english : undefined;
}

function replaced(words: readonly string[], by: Phrases, isKept: (word: string) => boolean): string[] {
  const read: string[] = [];
  for (let at = 0; at < words.length; ) {
    let length = Math.min(mostWords, words.length - at);
    const phrase = (count: number) => phraseOf(words.slice(at, at + count));
    // An article at the end belongs to what follows.
    while (length > 1 && (articles.has(words[at + length - 1]) || !by.has(phrase(length)))) length--;
    const english = length === 1 && isKept(words[at]) ? undefined : by.get(phrase(length));
    read.push(...(english ?? [words[at]]));
    at += length;
  }
  return read;
}
