/** Hints about damage that spreadsheets typically do to cells. */

/** Adds a hint about lost zeros to `expected` if the text is a number of fewer than `digits` digits. */
export function orLostZero(expected: string, text: string, digits: number): string {
  const isShort = /^[0-9]+$/.test(text) && text.length < digits;
  return isShort ? `${expected}; a spreadsheet may have dropped the zeros before it` : expected;
}

/** Adds a hint to `expected` if the text marks a suppressed value, or has commas between thousands. */
export function orPlainNumber(expected: string, text: string): string {
  if (/^(?:\*+|-+|\.|#?n\/?a|nan|none|null)$/i.test(text))
    return `${expected}; replace what marks a suppressed value by an empty cell`;
  if (/^\$?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?$/.test(text))
    return `${expected}; remove the commas between thousands`;
  return expected;
}

/** Adds a hint to `expected` if the text is a ZIP code of nine digits. */
export function orZip4(expected: string, text: string): string {
  return /^[0-9]{5}-?[0-9]{4}$/.test(text) ? `${expected}; keep the first five digits only` : expected;
}
