import * as v from "valibot";
import {
  type Circle,
  chargeFrom,
  chargeUpTo,
  defaultMiles,
  type FacilityCondition,
  type FacilityFilter,
  type Image,
  inCity,
  maxCents,
  maxMiles,
  oneOf,
  type PriceCondition,
  rowStatuses,
} from "../../engine/query.ts";
import { wholeNumber } from "../shared/schemas.ts";
import { count, dollars as dollarsIn, textOrNull, textsOrNull } from "./described.ts";
import { ApiError } from "./errors.ts";
import { ccns, dollars, place, states, textUpTo } from "./parameters.ts";

/** Filters of a list of facilities, as a table with a row per filter. */

/** A parameter that other parameters require. */
export type Needed = "procedure" | "near";

interface Where {
  image: Image;
  around: Circle | undefined;
}

type Schema = v.GenericSchema<string, unknown>;

type Echoed<Value> = Value extends string ? string : Value;

interface Described<Of extends Schema> {
  /** Reads the parameter. Its description documents the filter. */
  schema: Of;
  /** Describes the parameter's value, or null, in an answer's `query`. */
  echo: v.GenericSchema<Echoed<v.InferOutput<Of>> | null>;
}

interface PlaceFilter<Of extends Schema> extends Described<Of> {
  needs?: "near";
  differing?: undefined;
  narrow?(
    value: v.InferOutput<Of>,
    where: Where,
  ): Partial<Pick<FacilityFilter, "states" | "near">> & { conditions?: readonly FacilityCondition[] };
}

/** A filter by a hospital's row for a procedure. It requires the parameter `procedure`. */
interface RowFilter<Of extends Schema> extends Described<Of> {
  needs: "procedure";
  /** What differs at facilities that this filter leaves out, in a word for the error 404. */
  differing: string;
  narrow(
    value: v.InferOutput<Of>,
    where: Where,
  ): Partial<Pick<FacilityFilter, "status">> & { conditions?: readonly PriceCondition[] };
}

type Filter<Of extends Schema> = PlaceFilter<Of> | RowFilter<Of>;

function parameterOf<Of extends Schema>({ schema, needs }: Filter<Of>) {
  const about = v.getDescription(schema) ?? "";
  const whole = needs === undefined ? about : `${about} Only with \`${needs}\`.`;
  return v.optional(v.pipe(schema, v.description(whole)));
}

type Table<Each extends Record<string, Schema>> = { readonly [Name in keyof Each]: Filter<Each[Name]> };
type Values<Each extends Record<string, Schema>> = {
  readonly [Name in keyof Each]?: v.InferOutput<Each[Name]> | undefined;
};

/** Derives from the table what the endpoint, its answers and its errors need. */
function define<Each extends Record<string, Schema>>(table: Table<Each>) {
  const names = Object.keys(table) as (keyof Each)[];
  const byName = <To>(to: (filter: Filter<Each[keyof Each]>) => To) =>
    Object.fromEntries(names.map((name) => [name, to(table[name])]));

  function narrowed<Name extends keyof Each>(
    name: Name,
    values: Values<Each>,
    where: Where,
  ): Partial<FacilityFilter> {
    const value: v.InferOutput<Each[Name]> | undefined = values[name];
    return value === undefined ? {} : (table[name].narrow?.(value, where) ?? {});
  }

  function joined(some: readonly (keyof Each)[], values: Values<Each>, where: Where): FacilityFilter {
    const parts = some.map((name) => narrowed(name, values, where));
    const conditions = parts.flatMap((part) => part.conditions ?? []);
    return { status: "priced", ...Object.assign({}, ...parts), conditions };
  }

  return {
    parameters: byName(parameterOf) as {
      readonly [Name in keyof Each]: ReturnType<typeof parameterOf<Each[Name]>>;
    },
    echoes: byName(({ echo }) => echo) as { readonly [Name in keyof Each]: Filter<Each[Name]>["echo"] },
    echoOf: (values: Values<Each>) =>
      Object.fromEntries(names.map((name) => [name, values[name] ?? null])) as {
        [Name in keyof Each]: v.InferOutput<Each[Name]> | null;
      },
    /** Returns the parameters that are given without the parameter that they require. */
    lacking: (values: Values<Each> & { readonly procedure?: unknown }) =>
      names.flatMap((name) => {
        const { needs } = table[name];
        return values[name] === undefined || needs === undefined || values[needs] !== undefined
          ? []
          : { name: String(name), needs };
      }),
    filterOf: (values: Values<Each>, where: Where) => joined(names, values, where),
    /** Returns the filter of a request without the conditions on a hospital's row. */
    placeOf: (values: Values<Each>, where: Where): FacilityFilter => {
      const places = names.filter((name) => table[name].differing === undefined);
      return { ...joined(places, values, where), status: "all" };
    },
    /** What the conditions on rows are about, such as the charge. A 404 lists this if only these conditions aren't met. */
    differing: [...new Set(names.flatMap((name) => table[name].differing ?? []))].toReversed(),
  };
}

/** @param what names the parameter in the message, perhaps with its value */
export const lacks = (param: string, what: string, needs: Needed) =>
  new ApiError("invalid_parameter", `${what} is for requests with ${needs}: add ${needs}, or omit it`, {
    param,
  });

const inCents = (amount: number) => Math.round(amount * 100);
const statuses = [...rowStatuses, "all"] as const;
const maxCityCharacters = 100;

export const facilityFilters = define({
  state: {
    schema: states,
    echo: textsOrNull("State codes"),
    narrow: (codes) => ({ states: codes }),
  },
  city: {
    schema: v.pipe(
      textUpTo(maxCityCharacters, `a city's name of 1 to ${maxCityCharacters} characters`),
      v.description(
        "A city's name, perhaps with its state, compared without case, accents and abbreviations: `St Louis, MO`.",
      ),
      v.examples(["badger creek"]),
    ),
    echo: textOrNull("The city's name as it was given"),
    narrow: (city, { image }) => ({ conditions: [inCity(image, city)] }),
  },
  ccn: {
    schema: ccns,
    echo: textsOrNull("The CCNs as they were given"),
    narrow: (list, { image }) => ({ conditions: [oneOf(image, list)] }),
  },
  near: {
    schema: v.pipe(
      place,
      v.description(
        "A ZIP code, or a city with its state, such as `Boston, MA`. A ZIP code in a longer text decides. Only hospitals around it are listed, each with its distance.",
      ),
      v.examples(["20001"]),
    ),
    echo: textOrNull("ZIP code, or city with its state"),
    narrow: (_, { around }) => ({ near: around }),
  },
  within: {
    schema: v.pipe(
      wholeNumber(1, maxMiles),
      v.description(`Maximum distance from \`near\` in miles, 1 to ${maxMiles}; default ${defaultMiles}.`),
      v.examples([25]),
    ),
    echo: v.nullable(count("Miles")),
    needs: "near",
  },
  min_charge: {
    schema: v.pipe(
      dollars(maxCents / 100),
      v.description("The lowest charge in dollars."),
      v.examples([1000]),
    ),
    echo: v.nullable(dollarsIn("The lowest charge")),
    needs: "procedure",
    differing: "charge",
    narrow: (amount) => ({ conditions: [chargeFrom(inCents(amount))] }),
  },
  max_charge: {
    schema: v.pipe(
      dollars(maxCents / 100),
      v.description("The highest charge in dollars."),
      v.examples([20000]),
    ),
    echo: v.nullable(dollarsIn("The highest charge")),
    needs: "procedure",
    differing: "charge",
    narrow: (amount) => ({ conditions: [chargeUpTo(inCents(amount))] }),
  },
  status: {
    schema: v.pipe(
      v.string(),
      v.picklist(statuses, `one of ${statuses.join(", ")}`),
      v.description(
        "Only hospitals whose row has this status; default `priced`. Other rows have no amounts.",
      ),
      v.examples(["all"]),
    ),
    echo: textOrNull("Status of the rows"),
    needs: "procedure",
    differing: "status",
    narrow: (status) => ({ status }),
  },
});
