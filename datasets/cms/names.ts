import { maxNameCharacters } from "../../engine/index.ts";

interface Flaw {
  found: string;
  expected: string;
}

/** Invisible and meaningless characters. A client couldn't type a name that has one. */
const forbidden =
  /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufffd]/u;
const kinds: readonly [characters: RegExp, kind: string][] = [
  [/\p{Cc}/u, "control character"],
  [/\ufffd/u, "replacement character"],
  [/\p{Bidi_Control}/u, "bidirectional control"],
  [/\p{Co}|\p{Noncharacter_Code_Point}/u, "character without a meaning"],
];

/** Cleans a name: composes accents (NFC), trims it, and folds spaces of any kind and their runs into one plain space. */
export function cleanName(text: string): string | Flaw {
  const [character] = forbidden.exec(text) ?? [];
  if (character !== undefined) {
    const kind = kinds.find(([characters]) => characters.test(character))?.[1] ?? "invisible character";
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
    return { found: `the ${kind} U+${code}`, expected: "printable text" };
  }
  const name = text
    .normalize("NFC")
    .replace(/\p{Zs}+/gu, " ")
    .trim();
  if (name === "") return { found: "nothing", expected: "a name" };
  if (name.length > maxNameCharacters)
    return { found: `${name.length} characters`, expected: `at most ${maxNameCharacters}` };
  return name;
}

/**
 * The spellings of a name by facility, of which the commonest is served, and the first in the file of several that
 * are equally common. Nearly every facility has one, so only further ones are counted. An empty one, where a text may
 * be absent, is served only if there is no other.
 */
export class Spellings {
  readonly #raw: string[] = [];
  readonly #first: string[] = [];
  readonly #others = new Map<number, Map<string, number>>();

  /** @param clean called only for a text that isn't the facility's first one again */
  enter(facility: number, raw: string, clean: (raw: string) => string): void {
    if (raw === this.#raw[facility]) return;
    const text = clean(raw);
    if (facility === this.#first.length) {
      this.#raw.push(raw);
      this.#first.push(text);
    } else if (text !== this.#first[facility]) {
      const counts = this.#others.get(facility) ?? new Map<string, number>();
      this.#others.set(facility, counts.set(text, (counts.get(text) ?? 0) + 1));
    }
  }

  get several(): number[] {
    const named = (facility: number, others: ReadonlyMap<string, number>) =>
      [this.#first[facility], ...others.keys()].filter((text) => text !== "").length;
    return [...this.#others].flatMap(([facility, others]) => (named(facility, others) > 1 ? [facility] : []));
  }

  /** @param rows how many each facility has */
  commonest(rows: Int32Array): string[] {
    return this.#first.map((first, facility) => {
      const others = [...(this.#others.get(facility) ?? [])];
      let name = first;
      let most = first === "" ? 0 : others.reduce((left, [, count]) => left - count, rows[facility]);
      for (const [other, count] of others) if (other !== "" && count > most) [name, most] = [other, count];
      return name;
    });
  }
}
