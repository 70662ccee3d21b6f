import type { TextColumn } from "../encode.ts";
import { groupOf } from "../image/group-numbers.ts";
import { type Image, textAt } from "../image/image.ts";
import { measureFields, stateCodes } from "../snapshot/schema.ts";

export interface Coverage {
  states: string[];
  missing_states: { state: string; reason: string }[];
  /** APC codes of the procedures that have no price. */
  procedures_without_prices: string[];
}

/** Territories outside Medicare's outpatient payment system. Puerto Rico is inside the system (42 CFR 419.20). */
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

/**
 * Status of a data version: `current` is the default version, `available` the newest version of another year, and
 * `superseded` any other version.
 */
export type Status = "current" | "available" | "superseded";

/** @param images newest version first */
export function statusOf(images: readonly Image[], image: Image): Status {
  if (image === images[0]) return "current";
  const year = image.description.provenance.dataYear;
  const newest = images.find(({ description }) => description.provenance.dataYear === year);
  return image === newest ? "available" : "superseded";
}

export interface Changes {
  rows_added: number;
  rows_removed: number;
  /** Rows that have the same CCN and APC code in both versions, but differ in another column. */
  rows_changed: number;
}

/** Counts the rows that differ between two data versions. O(rows), too slow for serving threads. */
export function changesBetween(before: Image, after: Image): Changes {
  const facilities = counterparts(after, before, "ccn", [
    ...(["facilityName", "city", "state", "street", "zip"] as const),
    ...(["ruralUrbanCode", "ruralUrbanDescription"] as const),
  ]);
  const procedures = counterparts(after, before, "code", ["procedureName"]);
  const measures = measureFields.map((field) => [before[field], after[field]]);
  let [kept, changed] = [0, 0];
  for (let row = 0, old = 0; row < after.facility.length; row++) {
    const facility = facilities.positions[after.facility[row]];
    const procedure = procedures.positions[after.procedure[row]];
    // Both versions' rows are sorted by CCN and code. A position of −1 equals no position in the earlier version.
    while (
      before.facility[old] < facility ||
      (before.facility[old] === facility && before.procedure[old] < procedure)
    )
      old++;
    if (before.facility[old] !== facility || before.procedure[old] !== procedure) continue;
    kept++;
    if (
      !facilities.isSame[after.facility[row]] ||
      !procedures.isSame[after.procedure[row]] ||
      measures.some(([there, here]) => there[old] !== here[row])
    )
      changed++;
  }
  return {
    rows_added: after.facility.length - kept,
    rows_removed: before.facility.length - kept,
    rows_changed: changed,
  };
}

type TextSection = { [Name in keyof Image]: Image[Name] extends TextColumn ? Name : never }[keyof Image];

/**
 * Finds the position of each facility or procedure in another image, −1 for none, and whether its texts are the same.
 */
function counterparts(image: Image, other: Image, key: TextSection, texts: readonly TextSection[]) {
  const count = image[key].offsets.length - 1;
  const known = new Map<string, number>();
  for (let i = 0; i + 1 < other[key].offsets.length; i++) known.set(textAt(other[key], i), i);
  const positions = Int32Array.from({ length: count }, (_, i) => known.get(textAt(image[key], i)) ?? -1);
  const isSame = Array.from(
    positions,
    (at, i) => at >= 0 && texts.every((name) => textAt(image[name], i) === textAt(other[name], at)),
  );
  return { positions, isSame };
}
