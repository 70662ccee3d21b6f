import * as v from "valibot";
import {
  changeOf,
  dollarsOf,
  findGroup,
  type Image,
  matchGroups,
  nameProcedure,
  summaryOf,
  versionName,
} from "../../../engine/query.ts";
import { endpoint } from "../endpoint.ts";
import { noTrend } from "../not-found.ts";
import { procedure, state, versionNames } from "../parameters.ts";
import { trendsResponse } from "../responses.ts";
import { isYear, newestOfYears, sourceOfYears, versionsNamed } from "../years.ts";

interface Year {
  image: Image;
  group: number;
}

const ofYear = [
  "facilities",
  "min_charge",
  "p25_charge",
  "median_charge",
  "p75_charge",
  "max_charge",
  "median_allowed",
] as const;

const namedIn = (image: Image, code: string) => nameProcedure(image, image.procedureOf.get(code) ?? 0);

function rowOf(code: string, { image, group }: Year, before: Year | undefined) {
  const { dataYear } = image.description.provenance;
  return {
    data_year: dataYear,
    data_version: versionName(image.description.provenance),
    name: namedIn(image, code).name,
    ...dollarsOf(summaryOf(image, group), ofYear),
    ...comparison({ image, group }, before),
  };
}

function comparison({ image, group }: Year, before: Year | undefined) {
  if (before === undefined) return { change: null, matched: null };
  const [then, now] = [summaryOf(before.image, before.group), summaryOf(image, group)];
  const matched = matchGroups(before.image, before.group, image, group);
  return {
    change: {
      median_charge: changeOf(then.median_charge, now.median_charge) / 10,
      median_allowed: changeOf(then.median_allowed, now.median_allowed) / 10,
    },
    matched: matched && {
      facilities: matched.facilities,
      median_charge: matched.charge / 10,
      median_allowed: matched.allowed / 10,
    },
  };
}

export const trends = endpoint({
  path: "/healthcare/trends",
  name: "trends",
  summary: "The charges of one procedure group over the loaded data years, and how they changed",
  description:
    "`change` compares the medians of two years, which also move when hospitals come and go. `matched` covers the hospitals " +
    "with prices in both years. Synthetic data versions are omitted where a real one is loaded. With `source.data_versions` " +
    "as `versions`, an answer can be asked for again",
  returns: "A row per data year that has prices, the oldest first.",
  kind: "overall",
  parameters: v.object({ procedure, state, versions: versionNames }),
  response: trendsResponse,
  errors: ["missing_parameter", "not_found"],
  answer(context, values) {
    const { versions } = context;
    const named = values.versions && versionsNamed(versions, values.versions);
    const images = named ?? newestOfYears(versions);
    const years = images
      .map((image): Year => ({ image, group: findGroup(image, values.procedure, values.state ?? null) }))
      .filter(({ group }) => group >= 0);
    const latest = years.at(-1)?.image;
    if (latest === undefined) throw noTrend(images, values.procedure, values.state, named !== undefined);
    context.isPinned = values.versions?.some(isYear) === false;
    return {
      procedure: namedIn(latest, values.procedure),
      scope: { state: values.state ?? "national" },
      data: years.map((year, i) => rowOf(values.procedure, year, years[i - 1])),
      source: sourceOfYears(years.map(({ image }) => image)),
    };
  },
});
