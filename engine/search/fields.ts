/**
 * Fields of a document's words. `fillerField` has weak words of the name. `repeatField` has repeated words of the name,
 * and the written forms of words that the index has in another form. `cityField` and `stateField` have a place's whole
 * name, with its words joined; `cityPartField` and `statePartField` have its single words. `beyondField` has anything
 * else, such as a ZIP code.
 */
export const [
  nameField,
  fillerField,
  repeatField,
  cityField,
  stateField,
  cityPartField,
  statePartField,
  beyondField,
] = [0, 1, 2, 3, 4, 5, 6, 7];
/**
 * Field of words from the descriptors of codes. Procedures have no places, so this field has the number of
 * `statePartField`.
 */
export const describedField = statePartField;
/** A token is a word with its field: word << fieldBits | field. */
export const fieldBits = 3;
export const fieldMask = (1 << fieldBits) - 1;
/** Marks the start of each term among a procedure's words. No word of a query equals this text. */
export const termStart = ",";
