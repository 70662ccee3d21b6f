import {
  type Absent,
  type Image,
  isFirstMeant,
  nameProcedure,
  procedureCodePattern,
  search,
} from "../../engine/query.ts";
import type { Versions } from "./endpoint.ts";
import { ApiError, echo, echoBare } from "./errors.ts";
import { noMatches } from "./no-matches.ts";
import { groupWritten, noProcedure } from "./not-found.ts";

export interface ProcedureAsked {
  procedure: number;
  code: string;
  name: string;
  /** The group's name in plain words; null if there is none. */
  title: string | null;
  /** True if words or a HCPCS code found the group, false if its APC code did. */
  isSearched: boolean;
  /** What the words also ask for and this data can't have. */
  absent: readonly Absent[];
}

export const maxCandidates = 5;

/** @throws ApiError `invalid_parameter` if no group fits best or the words have a place; `not_found` if no group fits */
export function procedureAsked(versions: Versions, image: Image, asked: string): ProcedureAsked {
  const written = groupWritten(image, asked);
  if (written !== undefined)
    return { procedure: written, ...nameProcedure(image, written), isSearched: false, absent: [] };
  if (procedureCodePattern.test(asked)) throw noProcedure(versions, image, asked);
  const matches = search(image, "procedure", asked, 0, maxCandidates);
  if (matches.total === 0) throw noMatches(image, "procedure", asked, undefined, matches);
  const { place, absent } = matches;
  if (place) {
    const way = new URLSearchParams(place).toString();
    throw new ApiError(
      "invalid_parameter",
      `procedure is ${echo(asked)}, which has a place; leave it out, and add ${echoBare(way)}`,
      { param: "procedure" },
    );
  }
  if (!isFirstMeant(matches.scores)) {
    const candidates = Array.from(matches.documents, (found) => {
      const { code, name } = nameProcedure(image, found);
      return { code, name };
    });
    const list = candidates.map(({ code, name }) => `${code} (${name})`).join(", ");
    throw new ApiError(
      "invalid_parameter",
      `procedure is ${echo(asked)}, which may mean ${list}; give the code of one, or add words`,
      { param: "procedure", candidates, ...(absent.length > 0 && { absent }) },
    );
  }
  const [procedure] = matches.documents;
  return { procedure, ...nameProcedure(image, procedure), isSearched: true, absent };
}
