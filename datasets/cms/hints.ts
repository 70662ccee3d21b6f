import { stateNames } from "../../engine/index.ts";

/** Gives hints in error messages about what spreadsheets, pandas, R and other programs typically do to cells. */

type Hint = readonly [form: RegExp, advice: string];

const missing =
  /^(?:<na>|#?n\.?\/?a\.?|na[nt]|none|null|\(null\)|<null>|nil|\\n|missing|unknown|\(?(?:blank|empty)\)?|[-–—*.]+|\?)$/i;
/** How publishers mask a small count. */
const masked = /^(?:(?:[<≤]|&lt;) ?=? ?[0-9]+|[0-9]+ (?:or|and) (?:fewer|less)|1 ?[-–] ?1[01]|suppressed)$/i;

const original = "take the value from CMS's file";
const asText = `${original}, and keep the column as text (in pandas dtype=str, in a spreadsheet the column type Text)`;
const spreadsheetHints: readonly Hint[] = [
  [/^=/, "this is a spreadsheet's formula that keeps a text; write the value alone"],
  [/^['"]/, "remove the quotation mark before the value"],
  [/^#[a-z0-9/]+[?!]$|^#+$|^err:[0-9]+$/i, `this is a spreadsheet's error; ${original}`],
  [/^[0-9]\.[0-9]+e[+-]?[0-9]+$/i, `a spreadsheet has rounded it to this scientific form; ${asText}`],
  [/^(?:true|false)$/i, `a program has made it a truth value; ${original}`],
  [
    /^[0-9.,]+ ?%$/,
    `this is a percentage, so the columns may be shifted, or a spreadsheet has changed it; ${original}`,
  ],
];
const thousands: Hint = [/^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?$/, "remove the commas between thousands"];

const months = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)";
const dates = new RegExp(
  `^(?:[0-9]{1,4}([-/.])[0-9]{1,2}\\1[0-9]{1,4}|[0-9]{1,4}[- ]${months}|${months}[- ][0-9]{1,4})$`,
  "i",
);
const codeHints: readonly Hint[] = [
  [masked, "this masks a small count, so the columns may be shifted"],
  [/^[0-9]+\.0*$/, `a program has made the code a number; ${asText}`],
  [/^[0-9]e[+-]?[0-9]+$/i, `a program has made the code a number; ${asText}`],
  ...spreadsheetHints,
  thousands,
  [dates, `if a spreadsheet has made the code a date, ${asText}`],
];

const sign = "(?:\\p{Sc}|us ?\\$|usd|dollars?)";
const currencyHints: readonly Hint[] = [
  [
    new RegExp(
      `^(?:${sign} ?[0-9]{1,3}(?:,[0-9]{3})+(?:\\.[0-9]*)?|[0-9]{1,3}(?:,[0-9]{3})+(?:\\.[0-9]*)? ?${sign})$`,
      "iu",
    ),
    "remove the currency sign, and the commas between thousands",
  ],
  [new RegExp(`^(?:${sign} ?[0-9.]+|[0-9.]+ ?${sign})$`, "iu"), "remove the currency sign"],
];

const emptied = "replace what marks a suppressed value by an empty cell";
const numberHints: readonly Hint[] = [
  [missing, emptied],
  [masked, `this masks a small count; ${emptied}`],
  ...spreadsheetHints,
  thousands,
  ...currencyHints,
  [
    /^[0-9]{1,3}(?:[.'’ \u00a0\u202f][0-9]{3})*,[0-9]+$|^[0-9]+,[0-9]+$/,
    "write a point before the cents, and nothing between thousands",
  ],
  [/^[0-9]{1,3}(?:['’ \u00a0\u202f][0-9]{3})+(?:\.[0-9]*)?$/, "remove what separates thousands"],
  [/^[-−]\$?[0-9]|^\(.*[0-9]\)$/, `a count or an amount can't be negative; ${original}`],
  [/^[+-]?inf(?:inity)?$/i, `a division by zero gives this; ${original}`],
  [dates, `if a spreadsheet has made the number a date, ${asText}`],
];
const fraction: Hint = [
  /^[0-9]*\.[0-9]+$/,
  `a count has no fraction, so the columns may be shifted, or this is an average; ${original}`,
];

function advice(hints: readonly Hint[], text: string): string[] {
  return hints.filter(([form]) => form.test(text)).map(([, what]) => what);
}

function withAdvice(expected: string, [first]: string[]): string {
  return first === undefined ? expected : `${expected}; ${first}`;
}

export function isMissing(text: string): boolean {
  return missing.test(text);
}

/**
 * Adds a hint to `expected` if the text is a usual form of a missing or changed code.
 *
 * @param digits number of digits of a complete code, 0 for a code of letters; a shorter number may have lost leading
 * zeros
 * @param isOptional whether the cell may be empty
 */
export function orCode(expected: string, text: string, digits: number, isOptional = false): string {
  const isShort = /^[0-9]+$/.test(text) && text.length < digits;
  return withAdvice(expected, [
    ...(isShort ? ["a spreadsheet may have dropped the zeros before it"] : []),
    ...(isMissing(text) ? [isOptional ? "leave the cell empty if there is no value" : original] : []),
    ...(digits === 5 && /^[0-9]{5}-?[0-9]{4}$/.test(text) ? ["keep the first five digits only"] : []),
    ...advice(codeHints, text),
    ...(digits >= 4 && /^[0-9]+$/.test(text) && text.length > digits
      ? [`${text.length} digits are too many, so a digit may have been added; ${original}`]
      : []),
  ]);
}

const lettersOf = (text: string) => text.toUpperCase().replace(/[^A-Z]/g, "");
const codesByName = new Map(
  Object.entries(stateNames).flatMap(([code, name]) => [
    [code, code],
    [lettersOf(name), code],
    [lettersOf(name.replace("U.S. ", "")), code],
  ]),
);

/** Like `orCode`. For a state that isn't written as its code, such as Alabama or N.Y., the hint names the code. */
export function orState(expected: string, text: string): string {
  const code = codesByName.get(lettersOf(text));
  return code === undefined || /[^\p{L}\p{Z}.,]/u.test(text)
    ? orCode(expected, text, 0)
    : `${expected}; write ${code}, not its name`;
}

/** Adds a hint to `expected` if the text is a usual form of a missing or changed number. */
export function orPlainNumber(expected: string, text: string): string {
  return withAdvice(expected, advice(numberHints, text));
}

/** Like `orPlainNumber`, for a number without decimals. */
export function orCount(expected: string, text: string): string {
  return withAdvice(expected, advice([...numberHints, fraction], text));
}

/** Tells whether a row's first text, such as "Grand Total" or "010001 Total", marks a row of totals. */
export function isTotal(text: string): boolean {
  return /(?:^|[ -])(?:sub|grand)?totals?(?: result)?:?$|^(?:sum|average|mean|median|count)(?: of .*)?:?$/i.test(
    text,
  );
}

/**
 * Tells whether a text such as 5.00E+05 may be a number that a spreadsheet has rounded to two decimals and a power of
 * ten.
 */
export function isRounded(text: string): boolean {
  return /^[0-9]\.[0-9]{2}E\+[0-9]{2,3}$/.test(text);
}
