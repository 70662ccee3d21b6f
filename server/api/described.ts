import * as v from "valibot";

/** Makes parts of the schemas of responses, with descriptions for the OpenAPI document. */

export const described = <Schema extends v.GenericSchema>(description: string, schema: Schema) =>
  v.pipe(schema, v.description(description));
export const object = <Entries extends v.ObjectEntries>(description: string, entries: Entries) =>
  described(description, v.object(entries));
export const component = <Entries extends v.ObjectEntries>(
  title: string,
  description: string,
  entries: Entries,
) => v.pipe(v.object(entries), v.title(title), v.description(description));
export const rows = <Entries extends v.ObjectEntries>(description: string, title: string, entries: Entries) =>
  described(description, v.array(v.pipe(v.object(entries), v.title(title))));
export const text = (description: string, example: string) =>
  v.pipe(v.string(), v.description(description), v.examples([example]));
/** Gives a schema a title, so that it becomes a component of the OpenAPI document. */
export const titled = <Schema extends v.GenericSchema>(title: string, schema: Schema) =>
  v.pipe(schema, v.title(title));
export const dollars = (description: string) => v.pipe(v.number(), v.minValue(0), v.description(description));
export const count = (description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.description(description));
export const textOrNull = (description: string) => v.nullable(described(description, v.string()));
export const textsOrNull = (description: string) => v.nullable(described(description, v.array(v.string())));
