import { type Flaw, flawIn } from "../../engine/index.ts";

/** What has probably happened to a text for which `isReadTwice` returns true, and what to do. */
export const readTwice =
  "a program may have read UTF-8 as Windows-1252 or Latin-1 and written it again; take CMS's file, or read it as UTF-8";

/** Matches a character that a byte from 0x80 to 0xBF stands for in Windows-1252 or in Latin-1. */
const later = `[\u0080-\u00bf${new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 32 }, (_, i) => 0x80 + i))}]`;
/**
 * Matches a character from U+0080 to U+017F, or a sign such as U+2019, if its UTF-8 bytes were read as separate
 * characters. A second character that is a no-break space may have become a space or been trimmed by `cleanName`.
 */
const twice = new RegExp(
  `[\u00c2-\u00c5]${later}|[\u00c2-\u00c5](?: |$)|\u00e2[\u0080\u20ac]${later}?|\u00e2[\u0082\u0084\u201a\u201e]${later}`,
);

/** Tells whether a text looks like UTF-8 that was read as Windows-1252 or Latin-1, as in Ã© for é and â€™ for ’. */
export function isReadTwice(text: string): boolean {
  return twice.test(text);
}

/**
 * Cleans a name: composes accents (NFC), trims the name, and replaces every run of spaces by one space. Returns a
 * `Flaw` for a name that is empty, too long or has a forbidden character, such as a tab.
 */
export function cleanName(text: string): string | Flaw {
  const name = text
    .normalize("NFC")
    .replace(/\p{Zs}+/gu, " ")
    .replace(/^ | $/g, "");
  if (name === "") return { found: "nothing", expected: "a name" };
  const flaw = flawIn(name);
  if (flaw === undefined) return name;
  return isReadTwice(text) ? { ...flaw, expected: `${flaw.expected}; ${readTwice}` } : flaw;
}

/**
 * Finds each facility's commonest spelling of a text, such as its name. The first spelling in the file wins a tie. An
 * empty spelling wins only if there is no other.
 */
export class Spellings {
  readonly #raw: string[] = [];
  readonly #first: string[] = [];
  readonly #others = new Map<number, Map<string, number>>();

  /**
   * Enters the text that a row has for a facility. Facilities are numbered from 0 in the order of their first rows.
   *
   * @param clean cleans the text; it isn't called when the facility's first spelling is repeated
   */
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

  /** The facilities that have two or more spellings. Empty spellings aren't counted. */
  get several(): number[] {
    const named = (facility: number, others: ReadonlyMap<string, number>) =>
      [this.#first[facility], ...others.keys()].filter((text) => text !== "").length;
    return [...this.#others].flatMap(([facility, others]) => (named(facility, others) > 1 ? [facility] : []));
  }

  /** @param rows number of rows of each facility */
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
