import type { Image } from "../image/image.ts";
import { entriesOf } from "./lexicon.ts";
import { hasState } from "./matching.ts";
import { type Absent, absentOf } from "./procedure-words.ts";
import { indexOf } from "./text-index.ts";

const kinds = entriesOf("absent-hospital").flatMap(({ what, phrases }) =>
  phrases.map((phrase) => ({ phrase: phrase.split(" "), absent: absentOf(what, phrase), state: undefined })),
);
const states = entriesOf("absent-state").flatMap(({ what, phrases }) =>
  phrases.map((phrase) => ({
    phrase: phrase.split(" "),
    absent: absentOf(what.slice(3), phrase),
    state: what.slice(0, 2).toLowerCase(),
  })),
);
const all = [...kinds, ...states];
const starts = new Set(all.map(({ phrase: [first] }) => first));

/**
 * Returns the kinds of hospitals, and the states, that are asked for and that this data can't have. A state is asked
 * for by words, or because the search is limited to it. If the search is limited to a state, the state's code, such as
 * VA, isn't read as a kind of hospital.
 *
 * @param searched code of the state to which the search is limited; null for the nation
 */
export function absentHospitals(
  image: Image,
  words: readonly string[],
  searched: string | null,
): readonly Absent[] {
  const index = indexOf(image, "facility");
  const code = searched?.toLowerCase();
  if (!words.some((word) => starts.has(word)) && !states.some(({ state }) => state === code)) return [];
  const named = all.flatMap(({ phrase, absent, state }) => {
    const isNamed =
      (state !== undefined && state === code) ||
      (phrase[0] !== code && words.some((_, at) => phrase.every((word, i) => words[at + i] === word)));
    return isNamed && absent !== undefined && (state === undefined || !hasState(index, state))
      ? [absent]
      : [];
  });
  return named.filter(({ name }, i) => named.findIndex((other) => other.name === name) === i);
}
