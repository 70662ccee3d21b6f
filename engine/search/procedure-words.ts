import { linesOf, paragraphsOf } from "./data.ts";
import { fillerWords, genericWords, questionWords, seldomMeantWords, setOf } from "./vocabulary.ts";

/** The words that people use for procedures. The terms are in `data/`. */

/** Words that ask for something that no group includes. If the text names a procedure too, these words say nothing. */
const asides = `
anesthesia, burn, diabetes, diabetic, pregnant, pregnancy, hypertension, asthma, copd, concussion, dementia, anxiety, cough, cold,
fever, smoking, alcohol, cpap, oxygen, shot, pap, insulin, baby, newborn, rehab, dentist,
insurance, insured, copay, deductible, parking, money
`;

/** Words that, together with only a part of the body, ask for a drug, a visit or an ailment, and for no procedure. */
const asidesOfBodyParts = `
medication, medicine, pill, antibiotic, supplement, diet, doctor, specialist, pain, ache
`;

const partsOfBody =
  "ankle anus appendix artery back bladder breast cervix colon ear elbow esophagus eye finger foot gallbladder hand heart " +
  "hip joint kidney knee larynx liver lung nerve nose ovary penis prostate rectum shoulder sinus skin spine stomach testicle " +
  "throat thumb thyroid toe tonsil ureter uterus vein wrist";

const termsIn = (text: string) => text.replace(/\s+/g, " ").trim().split(", ");

/** APC code → the group's terms, and the HCPCS codes of frequent procedures in the group. */
export const plainWordsOf: Readonly<Record<string, { terms: readonly string[]; codes: readonly string[] }>> =
  Object.fromEntries(
    paragraphsOf("procedures.txt").map((paragraph) => {
      const [head, ...lines] = paragraph.split("\n");
      const [procedure, ...codes] = head.split(" ");
      return [procedure, { terms: termsIn(lines.join(" ")), codes }];
    }),
  );

/** A procedure that this data can't have, why and where else it is in one or two sentences, and a URL of its prices. */
export interface Absent {
  name: string;
  reason: string;
  see: string;
}

const absentKinds = new Map(
  linesOf("absent-kinds.txt")
    .filter((line) => line !== "")
    .map((line) => {
      const [kind, reason, see] = line.split(" | ");
      return [kind, { reason, see }];
    }),
);

interface AbsentTerm {
  text: string;
  /** Undefined for what isn't care. */
  absent: Absent | undefined;
  /** Whether groups have terms with the same words. */
  isAlsoHeld: boolean;
}

const absentParagraphs = [
  ...paragraphsOf("absent-procedures.txt"),
  `nothing |\n${asides}`,
  `nothing |\n${asidesOfBodyParts}`,
];

/** Terms for procedures and other things that no comprehensive APC includes. */
export const allAbsentTerms: readonly AbsentTerm[] = absentParagraphs.flatMap((paragraph) => {
  const [head, ...lines] = paragraph.split("\n");
  const [heading, name] = head.split(" |").map((part) => part.trim());
  const isAlsoHeld = heading.startsWith("also ");
  const kind = absentKinds.get(heading.replace("also ", ""));
  return termsIn(lines.join(" ")).map((text) => ({
    text,
    absent: kind && { name: name === "" ? text : name, ...kind },
    isAlsoHeld,
  }));
});
/** The terms of procedures in no group, without those that groups have too. */
export const absentTerms: readonly string[] = allAbsentTerms
  .filter(({ isAlsoHeld }) => !isAlsoHeld)
  .map(({ text }) => text);

/** Words that, together with only a part of the body, ask for no procedure. */
export const bodyPartAsides: ReadonlySet<string> = new Set(termsIn(asidesOfBodyParts));
/** Words that usually say nothing if the text names a procedure too. */
export const asideWords: ReadonlySet<string> = new Set([...termsIn(asides), ...bodyPartAsides]);
export const bodyParts: ReadonlySet<string> = new Set(partsOfBody.split(" "));

const meanings = new Map(
  linesOf("word-forms.txt").flatMap((line) => {
    const [word, forms] = line.split(": ");
    return forms.split(" ").map((form): [string, string] => [form, word]);
  }),
);

/** Words that the index of procedures replaces by a related word. */
export const wordForms: ReadonlySet<string> = new Set(meanings.keys());

/** Returns a word as the index of procedures has it: replaced by a related word, or in the singular. */
export function procedureMeaning(word: string): string {
  const singular = singularOf(word);
  return meanings.get(word) ?? meanings.get(singular) ?? singular;
}

function singularOf(word: string): string {
  if (word.length < 4 || !/[^aiosu]s$/.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  return word.slice(0, /(ch|sh|ss|x)es$/.test(word) ? -2 : -1);
}

const wordsOfTerms = new Set(
  [...Object.values(plainWordsOf).flatMap(({ terms }) => terms), ...allAbsentTerms.map(({ text }) => text)]
    .flatMap((term) => term.split(" "))
    .map(procedureMeaning),
);

/** Words of questions and sentences that no search for procedures needs. */
export const sentenceWords: ReadonlySet<string> = new Set([
  ...setOf(
    "i me my your his her we you it its this that is are was be am do does did how much many what which who where " +
      "when why can could should will would get getting got gets have having had has need needs needed want wants " +
      "take taking taken took put come coming comes came problem problems issue cut open lower see says look " +
      "looking seeing go going make done into down through inside under off up over between after before because if " +
      "then as about not husband wife mom dad mother father son daughter grandma grandpa adult elderly man woman " +
      "recovery no but during while admitted er ed emergency anesthesia doctor hospital medicare average typical " +
      "cheap left right small big large minor major side one two three both with plus some any all operating room w wo rt " +
      "lt bilat possible aunt uncle sister brother wife friend last week month year today status unit units hour hours hr " +
      "dx tx using via due next instead needing grown surgeon list show find give tell please number codes charge same sedation sides dads moms grandson granddaughter nephew niece boyfriend girlfriend assisted medtronic " +
      "hospitals doctors cause causes caused causing spot looked only they person",
  ),
  ...[...questionWords, ...seldomMeantWords].filter(
    (word) => !wordForms.has(word) && !wordsOfTerms.has(procedureMeaning(word)),
  ),
]);

/** Whether a word never says which procedure is meant. */
export const saysNothing = (word: string): boolean =>
  fillerWords.has(word) || sentenceWords.has(word) || genericWords.procedure.has(procedureMeaning(word));
