import * as d3 from "../../../shared/browser/d3.ts";
import { money, printable } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import {
  type FacilitiesAnswer,
  Failure,
  type ProceduresAnswer,
  pathOf,
  type SearchAnswer,
  unlessFailed,
} from "./answers.ts";
import { ask, askOrFailure, viewNow, viewOnce } from "./api.ts";
import { placesFor, understood } from "./around.ts";
import { includedIn, rowsBy } from "./begun-words.ts";
import {
  type Choice,
  comparedText,
  type Doubtful,
  defaultProcedure,
  isHome,
  isShort,
  maxPinned,
  mostCompared,
  nowhere,
  type Option,
  procedureChanges,
  shortText,
} from "./choice.ts";
import { Chooser } from "./chooser.ts";
import { knownOf, type View } from "./explore-data.ts";
import { placeShown } from "./explore-words.ts";
import { YearField, yearsOf } from "./form.ts";
import { choose, pin } from "./location.ts";
import { detailOf, doubtOf, nothingMatches, questionText, severalText, surelyMeant } from "./nothing.ts";
import { stateName, stateOf } from "./states.ts";
import { SearchForm } from "./without-script.ts";
import { fieldExamples, type Procedure, titleOf } from "./words.ts";

/** The fields of the Explore page: procedure, place, hospitals to compare, year. */

interface ControlsProps {
  choice: Choice;
  view: View | null;
  /** What the URL asks for in words; null for nothing. */
  words: string | null;
  /** Whether nothing is known yet. Then the procedure and the place are empty. */
  isBlank: boolean;
}

export function Controls({ choice, view, words: asked, isBlank }: ControlsProps) {
  const { year, pinned, words } = choice;
  const datasets = view?.datasets ?? [];
  const nation = view && unlessFailed(view.nation);
  // A view of a search has no procedure.
  const code = choice.procedure || view?.code || defaultProcedure;
  const listPath = proceduresPath(view?.scope instanceof Failure ? { ...choice, state: null } : choice);
  // The name of a procedure that was chosen from the list is known before its numbers are.
  const listed = () => viewNow((ask) => unlessFailed(ask<[ProceduresAnswer]>(listPath)[0]))?.data ?? [];
  const group =
    (view?.code === code ? (nation ?? view.unpriced)?.procedure : undefined) ??
    listed().find((row) => row.code === code);
  const known = view && knownOf(view);
  const ofYear = datasets.find(
    ({ data_version, status }) => data_version === year && status !== "superseded",
  );
  const chosenYear = view?.gone ? null : ofYear ? String(ofYear.data_year) : year;
  const shownYear = chosenYear ?? String(known?.source.data_year ?? yearsOf(datasets)[0] ?? "");
  const priced = nation && new Set(nation.data.map((row) => row.state));
  const isFull = pinned.length === maxPinned;
  const isFirst = isHome(choice);
  const isEmpty = isBlank || isFirst;
  const shown = words ?? (group ? titleOf(group) : code);
  const detail = group ? `${code} · ${group.name}` : code;
  const chosen =
    group && !isFirst && !view?.unknown ? [titleOf(group), typedPlace(choice)].filter(Boolean).join(" ") : "";
  const typed = asked ?? chosen;
  return html`<search class="controls">
    <${SearchForm} text=${typed} choice=${choice} />
    <${Chooser}
      class="procedure"
      label="Procedure"
      value=${isEmpty ? null : shown}
      placeholder=${isFirst ? fieldExamples.procedure : ""}
      detail=${isFirst ? undefined : isBlank || words !== null ? noDetail : detail}
      find=${(text: string) => findProcedure(listPath, year, text)}
      choose=${({ id, more }: Option) => choose({ ...procedureChanges(id), ...more })}
      search=${(q: string) => choose({ procedure: null, q })}
    />
    <${Chooser}
      class="place"
      label="State, city or ZIP code"
      value=${isEmpty ? null : placeShown(choice, view?.unknown ?? null)}
      placeholder=${isFirst ? fieldExamples.place : ""}
      find=${(text: string) => viewOnce((ask) => placesFor(text, year, priced, ask))}
      choose=${({ more }: Option) => choose({ ...nowhere, ...more })}
      search=${(near: string) => choose({ ...nowhere, near })}
    />
    <${Chooser}
      class="hospital"
      label="Compare a hospital"
      placeholder=${isBlank ? "" : pinned.length === 0 ? "name or city" : isFull ? `${maxPinned} of ${maxPinned}` : "add another"}
      value=${null}
      detail=${comparedText(choice)}
      find=${(text: string) => findHospital(choice, code, text, choice.state ?? view?.list.data[0]?.state)}
      choose=${({ id }: Option) => pin(choice, id)}
    />
    <${YearField} datasets=${datasets} shown=${shownYear} />
  </search>`;
}

/** Keeps the height of a detail, so that nothing moves. */
const noDetail = "\u00a0";

/** The place in words that a search understands; empty for the nation. */
const typedPlace = ({ state, near }: Choice) =>
  near !== null ? `near ${near}` : state === null ? "" : `in ${stateName(state)}`;

const proceduresPath = ({ state, year }: Choice) =>
  pathOf("/healthcare/procedures", { sort: "code", limit: 100, state }, year);

/** Heading of the procedures that belong to no part of the body. They come last. */
const otherPart = "Other care";

/** @param listPath path of the list of all procedures @param year a data year or version; null for the newest */
async function findProcedure(
  listPath: string,
  year: string | null,
  text: string,
): Promise<Option[] | Doubtful> {
  const { data } = await ask<ProceduresAnswer>(listPath);
  const rows = new Map(data.map((row) => [row.code, row]));
  const optionOf = (procedure: Procedure & { code: string; matched?: string[] | undefined }): Option => {
    const row = rows.get(procedure.code);
    return {
      id: procedure.code,
      title: titleOf(procedure),
      group: row?.part ?? otherPart,
      detail: detailOf(procedure),
      figure: row && `median ${money(row.median_charge)}`,
      mark: text,
    };
  };
  if (text === "") {
    const byPart = Map.groupBy(data, ({ part }) => part ?? otherPart);
    return d3.sort(byPart, ([part]) => Number(part === otherPart)).flatMap(([, of]) => of.map(optionOf));
  }
  if (isShort(text)) return { doubt: shortText(text), options: [] };
  const searched = pathOf("/search", { q: text, type: "procedure", limit: 50 }, year);
  const found = await viewOnce((ask) => understood(ask<[SearchAnswer]>(searched)[0], year, ask));
  const place = unlessFailed(found)?.query.place ?? null;
  const meant = surelyMeant(found);
  const others = unlessFailed(found)?.data ?? [];
  const options = [
    ...rowsBy(data, text).map((row) => optionOf({ ...row, matched: includedIn(row, text) })),
    ...others.flatMap((one) => (one.type === "procedure" ? [optionOf(one)] : [])),
  ];
  const said = doubtOf(found);
  // Suggestions are ordered by relevance, so they aren't grouped by part of the body.
  const unique = [...new Map(options.reverse().map((option) => [option.id, option])).values()].reverse();
  const unsure =
    unique.length === 1 ? questionText(text, unique[0].title) : `${severalText(text, "several procedures")}.`;
  const doubt = said || (unique.length === 0 ? nothingMatches(text) : meant === null ? unsure : "");
  const suggested = unique.map((option) => ({
    ...option,
    group: undefined,
    // If something is absent or ignored, an amount would look like the answer.
    figure: said === "" ? option.figure : undefined,
    // Choosing the meant procedure leads to the same page as a link with these words.
    more:
      option.id === meant
        ? { procedure: null, q: text, ...(place && nowhere) }
        : procedureChanges(option.id, place),
  }));
  return { doubt, options: d3.sort(suggested, ({ id }) => Number(id !== meant)) };
}

/** Offers hospitals with a price, and then hospitals without. @param home the state that comes first in both groups */
async function findHospital(choice: Choice, code: string, text: string, home?: string): Promise<Option[]> {
  const { year, pinned } = choice;
  if (pinned.length === maxPinned) throw new Error(`${mostCompared}: take one off first.`);
  if (isShort(text) && stateOf(text) === undefined) throw new Error("Write a name, a city or a ZIP code.");
  const found = await facilitiesBy(text, year);
  if (found.length === 0)
    throw new Error(
      `No hospital in the data matches “${printable(text)}”. Maryland's hospitals, critical access hospitals, and those for veterans or the military are never in it: Medicare pays them in other ways.`,
    );
  const parameters = { procedure: code, ccn: found.map(({ ccn }) => ccn).join(","), limit: 50 };
  const priced = await askOrFailure<FacilitiesAnswer>(pathOf("/healthcare/facilities", parameters, year));
  const hasPrice = (of: string) =>
    priced instanceof Failure ? priced.status !== 404 : priced.data.some(({ ccn }) => ccn === of);
  const isThere = ({ state }: { state: string }) => state === home;
  return d3
    .sort(found, (one) => 2 * Number(!hasPrice(one.ccn)) + Number(!isThere(one)))
    .map(({ ccn, facility, city, state }) => ({
      id: ccn,
      title: facility,
      detail: `${city}, ${state}${hasPrice(ccn) ? "" : " · no price for this procedure"}`,
      mark: text,
    }));
}

async function facilitiesBy(text: string, year: string | null) {
  const path = pathOf("/search", { q: text, type: "facility", limit: 50 }, year);
  return (unlessFailed(await askOrFailure<SearchAnswer>(path))?.data ?? []).flatMap((one) =>
    one.type === "facility" ? [one] : [],
  );
}
