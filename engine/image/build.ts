import { encodeRepeated, encodeText } from "../encode.ts";
import { csvLengths } from "../exports/csv.ts";
import { checkHeap, facilityDocuments, procedureDocuments, wordsByText } from "../search/documents.ts";
import { foldedCase } from "../search/text.ts";
import { byField, facilityFields, type HcpcsCode, procedureFields, versionName } from "../snapshot/schema.ts";
import type { Snapshot } from "../snapshot/snapshot.ts";
import { ascending } from "../snapshot/table.ts";
import { encodeHeads, encodePrefixes, measureAnswers, writeAnswers } from "./answer-bytes.ts";
import { stateGroup, stateIndex } from "./group-numbers.ts";
import { groupRows } from "./groups.ts";
import { attachImage, type Contents, type Description, type Image, layOut, maxImageBytes } from "./image.ts";
import { findPlace, noCities, noPlaces, type Places } from "./places.ts";
import { summarize } from "./summaries.ts";

export interface BuildLimits {
  image: number;
  /** Maximum heap bytes of texts. The bytes are estimated in advance, because a full heap may end the process. */
  heap: number;
}

/**
 * Builds the image of a snapshot. O(rows · log rows).
 *
 * @param places locations of ZIP codes; without them no facility has a location
 * @throws DataError when the image or its texts would exceed `limits`, or the image `maxImageBytes`
 */
export function buildImage(
  snapshot: Snapshot,
  limits?: BuildLimits,
  places: Places = noPlaces,
): SharedArrayBuffer {
  const { provenance, counts, isSynthetic, codes, sha256, contentSha256 } = snapshot;
  const { rows, ...texts } = snapshot.table;
  // Some tools pad texts with spaces. The checksums cover the texts as they are in the file.
  const facilities = trimmed(texts.facilities, facilityFields);
  const procedures = trimmed(texts.procedures, procedureFields);
  const wordsOf = wordsByText();
  const version = versionName(provenance);
  const included = includedCodes(procedures.code, codes);
  if (limits !== undefined) checkHeap(version, facilities, procedures, included, limits.heap, wordsOf);
  const source = { data_year: provenance.dataYear, data_version: version, caveat: provenance.caveat };
  const stateOf = Uint8Array.from(facilities.state, (code) => stateIndex.get(code) ?? 0);
  const nameOrder = ranksOf(facilities.name.map(foldedCase));
  const { priced, ...groups } = groupRows(rows, stateOf, nameOrder, procedures.code.length);
  const { summaries, details } = summarize(rows, groups);
  const pricedProcedures = new Uint32Array(stateOf.length);
  for (const row of priced) pricedProcedures[rows.facility[row]]++;
  const prefixes = encodePrefixes(facilities);
  const heads = encodeHeads(procedures, summaries, groups);
  const { answerBytes, ...extents } = measureAnswers(rows, groups, heads, prefixes);
  const { name: facilityName, ...facilityTexts } = byField(facilityFields, (field) =>
    encodeRepeated(facilities[field]),
  );
  const description: Description = {
    provenance,
    counts,
    isSynthetic,
    codes: codes?.length ?? null,
    places: places.name,
    sha256,
    contentSha256,
  };
  const { cities = noCities } = places;
  const procedureOf = new Map(procedures.code.map((code, i) => [code, i]));
  const contents: Contents = {
    description: Buffer.from(JSON.stringify(description)),
    tail: Buffer.from(`],"source":${JSON.stringify(source)},"next":`),
    ...facilityTexts,
    facilityName,
    code: encodeRepeated(procedures.code),
    procedureName: encodeRepeated(procedures.name),
    ...rows,
    stateOf,
    placeOf: Int32Array.from(facilities.zip, (zip) => findPlace(places.zip, zip)),
    nameOrder,
    pricedProcedures,
    placeZip: places.zip,
    placeLatitude: places.latitude,
    placeLongitude: places.longitude,
    placeCity: encodeText(cities.key),
    placeCityName: encodeText(cities.name),
    placeCityZips: Int32Array.from(cities.zips),
    placeCityLatitude: Int32Array.from(cities.latitude),
    placeCityLongitude: Int32Array.from(cities.longitude),
    ...groups,
    csvBytes: new Float64Array(groups.groupRows.length),
    summaries,
    details,
    ...extents,
    answers: {
      length: answerBytes,
      writeTo: (out) => writeAnswers(out, rows, groups, heads, prefixes),
    },
    hcpcs: encodeText((codes ?? []).map(({ code }) => code)),
    hcpcsProcedure: Uint32Array.from(codes ?? [], ({ procedure }) => procedureOf.get(procedure) ?? 0),
    includes: encodeText(included.map((of) => includesText(codes === null ? null : of))),
    documents: {
      facility: facilityDocuments(facilities, wordsOf),
      procedure: procedureDocuments(procedures, included),
    },
  };
  const buffer = layOut(contents, version, limits?.image ?? maxImageBytes);
  measureCsv(attachImage(buffer));
  return buffer;
}

function trimmed<Field extends string>(texts: Record<Field, string[]>, fields: readonly Field[]) {
  return byField(fields, (field) => texts[field].map((text) => text.trim()));
}

function includedCodes(procedures: string[], codes: Snapshot["codes"]): HcpcsCode[][] {
  const byProcedure = Map.groupBy(codes ?? [], ({ procedure }) => procedure);
  return procedures.map((code) => byProcedure.get(code) ?? []);
}

function includesText(codes: readonly HcpcsCode[] | null): string {
  const shown = codes?.map(({ code, description }) => ({ code, description: description || null }));
  return JSON.stringify(shown ?? null);
}

function ranksOf(names: string[]): Uint32Array {
  const ranks = new Uint32Array(names.length);
  const order = ascending(names);
  for (let i = 1, rank = 0; i < order.length; i++) {
    if (names[order[i]] !== names[order[i - 1]]) rank++;
    ranks[order[i]] = rank;
  }
  return ranks;
}

/** Measures the CSV lines of each group, because an export needs their length for Content-Length. */
function measureCsv(image: Image): void {
  const lengthOf = csvLengths(image);
  for (let row = 0; row < image.facility.length; row++) {
    const procedure = image.procedure[row];
    const length = lengthOf(row);
    image.csvBytes[procedure] += length;
    image.csvBytes[stateGroup(image, procedure, image.stateOf[image.facility[row]])] += length;
  }
}
