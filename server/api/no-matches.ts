import {
  type Absent,
  absentHospital,
  absentIn,
  type DocumentKind,
  emptyStateIn,
  explainNoMatch,
  findFacility,
  groupOfCode,
  hcpcsCodeIn,
  type Image,
  isSentence,
  otherCodeIn,
  regionAsked,
  rowsOfFacility,
  rowsOfScope,
  search,
  unpricedMatches,
} from "../../engine/query.ts";
import { ApiError, echo } from "./errors.ts";
import { findsSurely, groupIncluding, inState, notFound, searchFor, unpriced } from "./not-found.ts";

/** Explains why a search finds nothing. */

/** What to add to a search whose words match everything, such as `the` or `hospitals near me`. */
const whatToAdd = {
  facility:
    "these words fit any hospital; add a part of a name, a city, a state, a ZIP code or a CCN, " +
    "or list hospitals around a ZIP code by /healthcare/facilities?near=",
  procedure: "these words fit any procedure; add what is done, the part of the body, or an APC code",
};

const whatIsThere: Readonly<Record<DocumentKind, string>> = {
  facility:
    "this data set has hospitals that Medicare pays under the OPPS: no critical access, VA or military hospitals",
  procedure: "/healthcare/procedures lists all procedure groups",
};

const otherKind = {
  facility: ["procedure", "procedures match with type=procedure"],
  procedure: ["facility", "hospitals match with type=facility"],
} as const;

/**
 * Makes the error for a search without matches. The error says why nothing is found: a word has no match, for example,
 * or all matches are in other states.
 */
export function noMatches(
  image: Image,
  kind: DocumentKind,
  text: string,
  state: string | undefined,
): ApiError {
  const what = `no ${kind} matches ${echo(text)}`;
  const elsewhere = state === undefined ? 0 : search(image, kind, text, 0, 1).total;
  if (elsewhere > 0)
    return notFound(image, `${what}${inState(state)}`, `${elsewhere} with prices match in other states`);
  // What is absent matters more than a code or a ZIP code beside it.
  const absentProcedures = kind === "procedure" ? absentIn(image, text) : [];
  if (absentProcedures.length > 0) return notHeld(image, what, absentProcedures);
  const otherCode = otherCodeIn(text);
  if (otherCode !== undefined) return notFound(image, what, otherCode);
  const code = kind === "procedure" ? hcpcsCodeIn(text) : undefined;
  if (code !== undefined && !image.procedureOf.has(groupOfCode(image, code) ?? ""))
    return notFound(
      image,
      what,
      groupIncluding(image, text) ??
        `no procedure group is known to include the code ${code}; it may be in a group that this data lacks, because the data has comprehensive APCs only; ${searchFor(image, text)}`,
    );
  const region = kind === "facility" ? regionAsked(image, text) : undefined;
  if (region !== undefined)
    return notFound(
      image,
      what,
      `${echo(region)} is a region, and a search knows hospitals by city, state and ZIP code; add one of these, ` +
        "or list hospitals around a ZIP code by /healthcare/facilities?near=",
    );
  const empty = kind === "facility" ? emptyStateIn(image, text) : undefined;
  if (empty !== undefined && absentHospital(image, text) === undefined)
    return notFound(image, what, `this data set has no hospital in ${empty}`);
  const ccn = kind === "facility" ? /^\D*(\d{6})\D*$/.exec(text)?.[1] : undefined;
  if (ccn !== undefined && findFacility(image, ccn) < 0)
    return notFound(image, what, `no hospital has the CCN ${ccn}; search by its name and city instead`);
  const { word, isUnknown, near } = explainNoMatch(image, kind, text);
  const isAbsent = kind === "facility" && isUnknown && absentIn(image, word ?? "").length > 0;
  const absent = isAbsent ? absentIn(image, text) : [];
  if (absent.length > 0) return notHeld(image, what, absent);
  const unpricedOnes = unpricedMatches(image, kind, text);
  if (unpricedOnes.length > 0)
    return notFound(
      image,
      `no ${kind} that matches ${echo(text)} has prices`,
      whyUnpriced(image, kind, unpricedOnes),
    );
  const absentKind = kind === "facility" ? absentHospital(image, text) : undefined;
  if (absentKind !== undefined) return notFound(image, what, absentKind);
  if (word === undefined)
    return notFound(image, what, /[\p{L}\p{N}]/u.test(text) ? whatToAdd[kind] : "it has no word in it");
  const fault = isUnknown
    ? `nothing matches ${echo(word)}`
    : `nothing that matches the other words matches ${echo(word)}`;
  const isWhole = text.trim().toLowerCase() === word;
  const { message, type } = notFound(image, what, isWhole ? undefined : fault);
  const [other, hint] = otherKind[kind];
  const hints = [
    ...(near.length === 0 ? [] : [`similar${kind === "facility" ? " names" : ""}: ${near.join(", ")}`]),
    ...(findsSurely(image, other, text) ? [hint] : []),
  ];
  if (kind === "facility" && isSentence(text)) hints.push("ask with the hospital's name and city only");
  if (hints.length === 0) hints.push(whatIsThere[kind]);
  return new ApiError(type, [message, ...hints].join("; "));
}

/** Makes the error for what this data can't have. */
function notHeld(image: Image, what: string, absent: readonly Absent[]): ApiError {
  const [{ name, reason, see }] = absent;
  const { message, type } = notFound(
    image,
    what,
    `${echo(name)} is not in this data set. ${reason} See ${see}`,
  );
  return new ApiError(type, message, { absent });
}

function whyUnpriced(image: Image, kind: DocumentKind, found: Uint32Array): string | undefined {
  const counts = { rows: 0, suppressed: 0 };
  for (const document of found) {
    const { rows, suppressed } =
      kind === "facility"
        ? rowsOfFacility(image, document)
        : rowsOfScope(image, { procedure: document, state: null });
    counts.rows += rows;
    counts.suppressed += suppressed;
  }
  return unpriced(counts);
}
