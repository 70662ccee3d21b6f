import { maxNameCharacters } from "./schema.ts";

/** Checks the texts of a snapshot. Only `import` cleans names and addresses before this check. */

export interface Flaw {
  found: string;
  expected: string;
}

const forbidden =
  /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufffd]/u;
const kinds: readonly [characters: RegExp, kind: string][] = [
  [/\p{Cc}/u, "control character"],
  [/\ufffd/u, "replacement character"],
  [/\p{Bidi_Control}/u, "bidirectional control"],
  [/\p{Co}|\p{Noncharacter_Code_Point}/u, "character without a meaning"],
];

/**
 * Finds what is wrong with a text: it is too long, has only spaces, or has a forbidden character, such as a tab. An
 * empty text stands for an absent text, and has no flaw.
 */
export function flawIn(text: string, maxCharacters = maxNameCharacters): Flaw | undefined {
  if (text.length > maxCharacters)
    return { found: `${text.length} characters`, expected: `at most ${maxCharacters}` };
  const expected = "printable text";
  const [character] = forbidden.exec(text) ?? [];
  if (character !== undefined) {
    const kind = kinds.find(([characters]) => characters.test(character))?.[1] ?? "invisible character";
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0");
    return { found: `the ${kind} U+${code}`, expected };
  }
  return text !== "" && text.trim() === "" ? { found: "only spaces", expected } : undefined;
}
