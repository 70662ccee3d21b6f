/** Recognizes codes of other systems in searches: DRGs and ICD codes. This data has APCs. */

const drg = /\b(?:ms-?|apr-?)?drgs?[\s#:.-]*(?:code|number|no\.?)?\s*\d{1,3}\b/i;
const icd = /\bicd[\s-]?(?:9|10|11)(?:[\s-]?(?:cm|pcs))?\b|\bicd\s+codes?\b/i;
const diagnosis = /(?<![\w.])[a-tv-z]\d[\da-z]\.[\da-z]{1,4}(?![\w.])/gi;

/** Takes the codes of diagnoses off a text, as they stand beside a procedure on a referral. */
export function withoutDiagnoses(text: string): { rest: string; diagnoses: readonly string[] } {
  const diagnoses = (text.match(diagnosis) ?? []).map((code) => code.toUpperCase());
  return { rest: diagnoses.length === 0 ? text : text.replace(diagnosis, " ").replace(icd, " "), diagnoses };
}

/** Says what a code of another system in a text is; undefined if there is none. */
export function otherCodeIn(text: string): string | undefined {
  const [group] = drg.exec(text) ?? [];
  if (group !== undefined)
    return `${group.toUpperCase()} is a DRG, which groups stays of inpatients; this data set has APCs, which group outpatient procedures`;
  if (icd.test(text) || text.search(diagnosis) >= 0)
    return "ICD codes name diagnoses and inpatient procedures; this data set has APCs, and search finds them by words, HCPCS or CPT codes";
  return undefined;
}
