import {
  type Absent,
  type DocumentKind,
  type Image,
  type NoMatch,
  rowsOfFacility,
  rowsOfScope,
  type SearchAnswer,
} from "../../engine/query.ts";
import { ApiError, echo } from "./errors.ts";
import { findsSurely, groupIncluding, inState, notFound, searchFor, unpriced } from "./not-found.ts";

/** What to add to a search whose words say nothing, such as `the`. */
const whatToAdd = {
  facility: "these words fit any hospital; add a part of a name, a city, a state, a ZIP code or a CCN",
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

export function noMatches(
  image: Image,
  kind: DocumentKind,
  text: string,
  state: string | undefined,
  { absent, why }: SearchAnswer,
): ApiError {
  const what = `no ${kind} matches ${echo(text)}`;
  const reasons = why === undefined ? [] : reasonsFor(image, kind, text, why);
  // What this data can't have is reported first. It matters more than matches in other states, a code or a ZIP code.
  if (absent.length > 0) return notHeld(image, what, absent);
  const elsewhere = why?.emptyState === undefined ? (why?.elsewhere.length ?? 0) : 0;
  if (elsewhere > 0)
    return notFound(image, `${what}${inState(state)}`, `${elsewhere} with prices match in other states`);
  if (why !== undefined && why.unpriced.length > 0)
    return notFound(
      image,
      `no ${kind} that matches ${echo(text)} has prices`,
      whyUnpriced(image, kind, why.unpriced),
    );
  const [reason] = reasons;
  return reason === undefined ? wordWithout(image, kind, text, what, why) : notFound(image, what, reason);
}

/** Returns the reasons why nothing matches a text, the most telling one first. */
function reasonsFor(image: Image, kind: DocumentKind, text: string, why: NoMatch): string[] {
  const { otherCode, code, isHere, region, emptyState, ccn, place, word } = why;
  const reasons = [
    otherCode,
    place &&
      `${echo(place)} is a place, and names no procedure; add what is done, as in \`knee replacement near Boston, MA\`, or list hospitals there with type=facility`,
    code &&
      (groupIncluding(image, text) ??
        `no procedure group is known to include the code ${code}; it may be in a group that this data lacks, because the data has comprehensive APCs only; ${searchFor(image, text)}`),
    isHere && word === undefined
      ? "a search doesn't know where you are; add a city or a ZIP code, as in `hospitals near 60614`"
      : undefined,
    region &&
      `${echo(region)} is a region, and a search knows hospitals by city, state and ZIP code; add one of these, ` +
        "or list hospitals around a ZIP code by /healthcare/facilities?near=",
    emptyState && `this data set has no hospital in ${emptyState}`,
    ccn &&
      `no hospital has the ${ccn.length === 6 ? "" : "ZIP code or "}CCN ${ccn}; search by its name and city instead`,
    word === undefined ? (/[\p{L}\p{N}]/u.test(text) ? whatToAdd[kind] : "it has no word in it") : undefined,
  ];
  return reasons.flatMap((reason) => (reason === undefined || reason === "" ? [] : reason));
}

function wordWithout(
  image: Image,
  kind: DocumentKind,
  text: string,
  what: string,
  why: NoMatch | undefined,
): ApiError {
  const { word = "", isUnknown = true, near = [] } = why ?? {};
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
  return new ApiError(type, [message, ...(hints.length === 0 ? [whatIsThere[kind]] : hints)].join("; "));
}

function notHeld(image: Image, what: string, absent: readonly Absent[]): ApiError {
  const [{ name, reason, see }] = absent;
  const { message, type } = notFound(
    image,
    what,
    `${echo(name)} is not in this data set. ${reason} See ${see}`,
  );
  return new ApiError(type, message, { absent });
}

function whyUnpriced(image: Image, kind: DocumentKind, found: readonly number[]): string | undefined {
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
