import { useEffect, useState } from "preact/hooks";
import * as d3 from "../../../shared/browser/d3.ts";
import { change, counted, money, whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import {
  type Dataset,
  type FacilityAnswer,
  type FacilityRow,
  Failure,
  isAbsence,
  pathOf,
  type SearchAnswer,
  type Standing,
  unlessFailed,
} from "./answers.ts";
import { asFailure, askOrFailure } from "./api.ts";
import {
  Card,
  type FigureColumn,
  type Figures,
  figuresOf,
  paysName,
  paysOf,
  sourceOf,
  versionColumns,
} from "./card.ts";
import { firstShown, isShort, shortText } from "./choice.ts";
import { restMs } from "./chooser.ts";
import { context } from "./context.ts";
import { Field, More, sentenceOf } from "./form.ts";
import {
  allowedColumn,
  chargeColumn,
  DotsLegend,
  headsOf,
  List,
  type ListColumn,
  paysColumn,
  type Row,
  type Sorted,
  servicesColumn,
  TableDrawing,
} from "./list.ts";
import { addresses, inPlace, withParameters } from "./location.ts";
import { doubtOf, nothingMatches } from "./nothing.ts";
import { dollarScale } from "./picture.ts";
import { stateName } from "./states.ts";
import { isFew, nameOf, orderText, paysTitle, shareOf, standingText, titleOf } from "./words.ts";

/** Lists a hospital's procedures, and compares its charges with the medians of nation and state. */

/** Returns 0 if there is no other hospital, so that the row comes last in descending order. */
const comparedWith = (row: FacilityRow, { facilities, median_charge }: Standing) =>
  facilities === 1 ? 0 : row.submitted_charge / median_charge;

/** Sort keys of a row, by the order's name in the URL. */
const keys: Readonly<Record<string, (row: FacilityRow) => number | string>> = {
  name: titleOf,
  pays: (row) => row.medicare_allowed,
  charge: (row) => row.submitted_charge,
  nation: (row) => comparedWith(row, row.national),
  state: (row) => comparedWith(row, row.within_state),
  allowed: (row) => row.medicare_allowed,
  services: (row) => row.services ?? 0,
};

/** By default, the highest charge relative to the nation's median comes first. */
export function sortedBy(parameters: URLSearchParams): Sorted {
  const sort = parameters.get("sort") ?? "";
  if (!Object.hasOwn(keys, sort)) return { sort: "nation", order: "desc" };
  return { sort, order: parameters.get("order") === "desc" ? "desc" : "asc" };
}

/** Makes the permanent URL of a hospital's page. @param lasting the data versions that are shown */
export const hospitalLinks = (lasting: Record<string, string | null>) => ({
  page: location.origin + withParameters(lasting),
});

const filterName = "find";

interface StandingsProps {
  answer: FacilityAnswer;
  lasting: Record<string, string | null>;
  datasets: readonly Dataset[];
  sorted: Sorted;
  /** Code of the chosen procedure, whose row comes first; null if no procedure is chosen. */
  chosen: string | null;
  shown: number;
  /** Text below the list on a narrow screen, and for citing. */
  note: string;
}

export function Standings({ answer, lasting, datasets, sorted, chosen, shown, note }: StandingsProps) {
  const [words, setWords] = useState(() => context.typedIn(filterName) ?? "");
  const { facility, data, source } = answer;
  const ascending = d3.sort(data, keys[sorted.sort]);
  const inOrder = sorted.order === "asc" ? ascending : ascending.reverse();
  const asked = words.toLowerCase().split(/\s+/);
  // The API also searches for the words, because some words are in no title, such as a HCPCS code.
  const searched = useSearch(words.trim(), source.data_version);
  const meant = unlessFailed(searched)?.data.flatMap((one) => (one.type === "procedure" ? [one.code] : []));
  const isAsked = (row: FacilityRow) => {
    const text = `${row.code} ${titleOf(row)} ${row.name}`.toLowerCase();
    return asked.every((word) => text.includes(word)) || meant?.includes(row.code);
  };
  const found = d3.sort(inOrder, ({ code }) => Number(code !== chosen)).filter(isAsked);
  const rows = found.slice(0, shown);
  const all = counted(found.length, "procedure", "procedures");
  const said = found.length === 0 ? searchedText(words.trim(), searched) : searched && doubtOf(searched);
  const scale = () =>
    dollarScale(
      data.flatMap((row) => [row.submitted_charge, row.medicare_allowed, row.national.median_charge]),
    );
  const columns: ListColumn[] = [
    { title: "Procedure", kind: "name", sort: "name" },
    ...[paysColumn, allowedColumn, chargeColumn],
    {
      ...{ title: "vs. nation", kind: "number", sort: "nation", beside: "usually" },
      hint: "The charge, compared with the nation's median charge",
    },
    {
      ...{ title: `vs. ${stateName(facility.state)}`, kind: "number", sort: "state", beside: "sorted" },
      hint: `The charge, compared with ${stateName(facility.state)}'s median charge`,
    },
    servicesColumn,
  ];
  const drawnOf = (row: FacilityRow) => {
    const { submitted_charge: charged, medicare_allowed: allowed, services, national } = row;
    const texts = [
      ...[shareOf(allowed, source.data_year), allowed, charged].map(money),
      ...[national, row.within_state].map((standing) => besideText(charged, standing)),
      services === null ? "–" : whole(services),
    ];
    const median = isFew(national) ? null : national.median_charge;
    return { name: titleOf(row), place: row.code, texts, amounts: { charged, allowed, median } };
  };
  const pricesAt = addresses((code) => inPlace("/", { procedure: code, with: facility.ccn }));
  const rowOf = (row: FacilityRow): Row => {
    const { code, national, within_state } = row;
    const { name, texts, amounts } = drawnOf(row);
    const [nation, state, services] = texts.slice(-3);
    return {
      key: code,
      kind: code === chosen ? "pinned" : "",
      cells: [
        html`<a href=${pricesAt(code)}>${name}</a><small class="quiet">${row.title === null ? code : `${code} ${row.name}`}</small>`,
        ...texts.slice(0, -3),
        html`<${Beside} text=${nation} standing=${national} where="the nation" />`,
        html`<${Beside} text=${state} standing=${within_state} where=${facility.state} />`,
        services,
      ],
      amounts,
    };
  };
  const line = "The upright line is the nation's median charge.";
  return html`<${Card}
    class="facilities standing"
    title=${all + (found.length > 1 ? orderText(sorted, found[0].code === chosen ? "chosen" : "") : "")}
    about=${html`<${DotsLegend} median="nation's median" />`}
    name=${`opps-${source.data_version}-hospital-${facility.ccn}`}
    figures=${() => facilityFigures(found, answer)}
    isTable=${true}
    links=${() => hospitalLinks(lasting)}
    subject=${`${facility.facility}, ${source.data_year}`}
    saved=${() => ({
      part: rows.length < found.length ? `The first ${rows.length} of ${all}.` : "",
      sentence: `What it charges for each procedure, and what Medicare allows. ${line}`,
      cited: `${facility.facility} in ${source.data_year}: ${note}`,
    })}
    drawing=${() => html`<${TableDrawing} heads=${headsOf(columns.slice(1).map((one) => (one.sort === "state" ? { ...one, title: `vs. ${facility.state}` } : one)))} rows=${rows.map(drawnOf)} x=${scale()} />`}
    source=${() => sourceOf([source.data_version], datasets)}
  >
    ${data.length > firstShown && html`<${Field} label="Find a procedure" name=${filterName} value=${words} set=${setWords} type="search" />`}
    ${said && html`<p class="quiet" role="status">${said}</p>`}
    <${List} label="Procedures" columns=${columns} rows=${rows.map(rowOf)} sorted=${sorted} scale=${scale} />
    ${found.length > 0 && html`<${More} shown=${shown} listed=${rows.length} count=${found.length} />`}
    <p class="about narrow-only">${line} ${note}</p>
  <//>`;
}

/** Searches for a procedure once typing has stopped. Returns null before the answer, and for words that are too short. */
function useSearch(words: string, version: string): SearchAnswer | Failure | null {
  const [found, setFound] = useState<{ of: string; answer: SearchAnswer | Failure } | null>(null);
  const path = pathOf("/search", { q: words, type: "procedure", limit: 50 }, version);
  useEffect(() => {
    if (isShort(words)) return;
    const answer = () => askOrFailure<SearchAnswer>(path).catch(asFailure);
    const timer = setTimeout(() => answer().then((answer) => setFound({ of: path, answer })), restMs);
    return () => clearTimeout(timer);
  }, [path]);
  return found?.of === path ? found.answer : null;
}

/** Says why the list is empty. @param found see `useSearch` */
function searchedText(words: string, found: SearchAnswer | Failure | null): string {
  if (found === null) return isShort(words) ? shortText(words) : "Searching…";
  if (found instanceof Failure)
    return isAbsence(found) ? doubtOf(found) || nothingMatches(words) : sentenceOf(found);
  const [first, ...others] = found.data;
  const none = `It has no price for ${first.type === "procedure" ? nameOf(first) : words}`;
  return [doubtOf(found), `${none}${others.length > 0 ? ", or what else the words may mean" : ""}.`].join(
    " ",
  );
}

const besideText = (charged: number, { facilities, median_charge }: Standing) =>
  facilities === 1 ? "–" : change(Math.round((charged / median_charge - 1) * 100));

function Beside({ text, standing, where }: { text: string; standing: Standing; where: string }) {
  const { facilities, median_charge } = standing;
  if (facilities === 1) return html`<small class="quiet">no other in ${where}</small>`;
  return html`<span title=${standingText(standing, ` in ${where}`)}>${text}</span>${" "}
    <small class="quiet">median ${money(median_charge)}</small>
    ${isFew(standing) && html` <small class="quiet">of ${facilities} hospitals</small>`}`;
}

const standingColumns = (title: string, of: "national" | "within_state"): FigureColumn<FacilityRow>[] => [
  [`${of}_rank`, `${title} rank`, (row) => row[of].rank, whole],
  [`${of}_facilities`, `${title} hospitals`, (row) => row[of].facilities, whole],
  [`${of}_percentile`, `${title} percentile`, (row) => row[of].percentile, String],
  [`${of}_median_charge`, `${title} median`, (row) => row[of].median_charge, money],
];

const facilityFigures = (
  rows: readonly FacilityRow[],
  { facility, source }: Pick<FacilityAnswer, "facility" | "source">,
): Figures =>
  figuresOf<FacilityRow>(
    rows,
    ...versionColumns(source),
    ["ccn", null, () => facility.ccn],
    ["facility", null, () => facility.facility],
    ["city", null, () => facility.city],
    ["state", null, () => facility.state],
    ["code", "code", ({ code }) => code],
    ["procedure", "official name", ({ name }) => name],
    ["title", "procedure", titleOf],
    ["submitted_charge", "charge", ({ submitted_charge }) => submitted_charge, money],
    ["medicare_allowed", "allowed", ({ medicare_allowed }) => medicare_allowed, money],
    [paysName, paysTitle.toLowerCase(), (row) => paysOf(row, source.data_year), money],
    ["services", "services", ({ services }) => services, whole],
    ...standingColumns("national", "national"),
    ...standingColumns("state", "within_state"),
  );
