import type { ProceduresAnswer } from "./answers.ts";

/** Finds procedure groups by beginnings of words, while somebody types. Words of one or two characters don't count. */

type Row = ProceduresAnswer["data"][number];

const wordsOf = (text: string | null) => text?.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
const typedIn = (text: string) => wordsOf(text).filter((word) => word.length > 2);

/**
 * Finds the first of a group's further procedures that has a word beginning with a word of the text.
 * @returns at most one procedure; none if the group's title already has such a word
 */
export function includedIn({ title, words }: Pick<Row, "title" | "words">, text: string): string[] {
  const typed = typedIn(text);
  const isIn = (of: string | null) => wordsOf(of).some((own) => typed.some((word) => own.startsWith(word)));
  const further = words?.split(", ") ?? [];
  return isIn(title) ? [] : further.filter(isIn).slice(0, 1);
}

/**
 * Finds rows in which each typed word begins a word of the title or of the further procedures. Rows whose title matches
 * come first.
 */
export function rowsBy(rows: readonly Row[], text: string): Row[] {
  const typed = typedIn(text);
  if (typed.length === 0) return [];
  const isIn = (of: string | null) => {
    const own = wordsOf(of);
    return typed.every((word) => own.some((each) => each.startsWith(word)));
  };
  return [
    ...new Set([
      ...rows.filter(({ title }) => isIn(title)),
      ...rows.filter(({ title, words }) => isIn(`${title ?? ""} ${words ?? ""}`)),
    ]),
  ];
}
