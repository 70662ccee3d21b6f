import { groupOf, type Image, textAt } from "../image/image.ts";
import { stateCodes } from "../snapshot/schema.ts";

/** What a data version covers, computed from its rows. */
export interface Coverage {
  states: string[];
  missing_states: { state: string; reason: string }[];
  procedures_without_prices: string[];
}

/** Territories outside Medicare's outpatient payment system. Puerto Rico is inside (42 CFR 419.20). */
const outsideOpps = new Set(["AS", "GU", "MP", "VI"]);

export function coverageOf(image: Image): Coverage {
  const withRows = new Set<string>();
  for (let facility = 0; facility + 1 < image.state.offsets.length; facility++)
    withRows.add(textAt(image.state, facility));
  const all = Array.from({ length: image.procedures }, (_, i) => i);
  const isPriced = (procedure: number, state: string | null) => {
    const group = groupOf(image, procedure, state);
    return image.groupStart[group] < image.groupStart[group + 1];
  };
  const states = stateCodes.filter((state) => all.some((procedure) => isPriced(procedure, state)));
  const reason = (state: string) => {
    if (withRows.has(state)) return "every row is suppressed or incomplete";
    if (state === "MD") return "Maryland's all-payer rate setting is outside the OPPS";
    return outsideOpps.has(state) ? "hospitals there are outside the OPPS" : "no rows in the release";
  };
  return {
    states,
    missing_states: stateCodes
      .filter((state) => !states.includes(state))
      .map((state) => ({ state, reason: reason(state) })),
    procedures_without_prices: all
      .filter((procedure) => !isPriced(procedure, null))
      .map((procedure) => textAt(image.code, procedure)),
  };
}

/** The status of a version: `current` for the default, `available` for the newest of an older year, else `superseded`. */
export type Status = "current" | "available" | "superseded";

/** @param images newest version first */
export function statusOf(images: readonly Image[], image: Image): Status {
  if (image === images[0]) return "current";
  const year = image.description.provenance.dataYear;
  const newest = images.find(({ description }) => description.provenance.dataYear === year);
  return image === newest ? "available" : "superseded";
}
