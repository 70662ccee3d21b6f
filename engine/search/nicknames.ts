import { stateNames } from "../snapshot/schema.ts";
import { linesOf } from "./data.ts";
import { cityField, stateField } from "./fields.ts";
import { documentsOf, findWord, hasToken, type SearchIndex } from "./text-index.ts";

/** Other names of cities and states, from `data/`. */

const cities = Map.groupBy(
  linesOf("city-nicknames.txt").map((line) => {
    const [nickname, state, names] = line.split(" | ");
    return { nickname, state: state.toLowerCase(), names: names.split(" ") };
  }),
  ({ nickname }) => nickname,
);

/** Returns a state's code in capitals for its code or a name, as one word in small letters; undefined if none. */
export function stateOf(word: string): string | undefined {
  return codes.get(otherStateNames.get(word) ?? word);
}

const joined = (name: string) => name.toLowerCase().replace(/[^a-z]/g, "");

const codes = new Map(
  Object.entries(stateNames).flatMap(([code, name]): [string, string][] => [
    [code.toLowerCase(), code],
    [joined(name), code],
  ]),
);

/** Other names of states → the states' names, both written as one word in small letters. */
export const otherStateNames: ReadonlyMap<string, string> = new Map(
  linesOf("state-names.txt").flatMap((line) => {
    const [code, ...names] = line.split(" ");
    return names.map((name): [string, string] => [name, joined(stateNames[code as keyof typeof stateNames])]);
  }),
);

/** Returns the first city in each state that a nickname stands for, as one word, with its state's code in capitals. */
export function citiesOfNickname(nickname: string): { city: string; state: string }[] {
  return (cities.get(nickname) ?? []).map(({ state, names }) => ({
    city: names[0],
    state: state.toUpperCase(),
  }));
}

/** Returns the facilities in the cities that a nickname stands for. @param nickname as one word, such as `longisland` */
export function facilitiesOfNickname(index: SearchIndex, nickname: string): number[] {
  return (cities.get(nickname) ?? []).flatMap(({ state, names }) =>
    names.flatMap((name) => facilitiesIn(index, name, state)),
  );
}

/** Returns the facilities in a city of a state. @param city as one word @param state its code or name as one word */
export function facilitiesIn(index: SearchIndex, city: string, state: string): number[] {
  const [here, there] = [findWord(index, city), findWord(index, state)];
  if (here < 0 || there < 0) return [];
  return [...documentsOf(index, here)].filter(
    (document) => hasToken(index, document, here, cityField) && hasToken(index, document, there, stateField),
  );
}
