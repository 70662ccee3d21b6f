import { useEffect, useState } from "preact/hooks";
import { whole } from "../../../shared/browser/format.ts";
import { html } from "../../../shared/browser/html.ts";
import { type Dataset, Failure, pathOf, type TrendsAnswer, unlessFailed } from "./answers.ts";
import { asFailure, viewOnce } from "./api.ts";
import {
  changesSql,
  figuresSql,
  fileOf,
  hospitalSql,
  hospitalYearsSql,
  type Rows,
  ranksSql,
  statesSql,
} from "./check.ts";
import { Command } from "./curl.ts";
import { lastingOf, pathsOf, rowsAt, type View } from "./explore-data.ts";
import type { HospitalView } from "./hospital-words.ts";
import { useOrigin, withParameters } from "./location.ts";
import { leastYears } from "./trend.ts";
import { checkTitle } from "./words.ts";

/** Shows how to check a page's figures. */

interface Statement {
  title: string;
  sql: string;
}

interface CheckProps {
  dataset: Dataset;
  page: string;
  /** The API's path of the same figures, with the data version. */
  api: string;
  statements: Statement[];
  /** Name of the table with the places of ZIP codes; null if no place is chosen. */
  places?: string | null;
  lacking?: string | undefined;
  toggle?: (isOpen: boolean) => void;
}

function Check({ dataset, page, api, statements, places = null, lacking, toggle }: CheckProps) {
  const { verify } = dataset;
  // Without the script, the page doesn't know its origin. Browsers print a page's URL themselves.
  const origin = useOrigin();
  const { name } = fileOf(dataset);
  const exported = pathOf("/export.csv", {}, dataset.data_version);
  const file =
    verify === null
      ? html`Get <a href=${exported}>${exported}</a> with a key, and name the file <b>${name}</b>.`
      : html`Get CMS's file <b>${verify.source_url === null ? name : html`<a href=${verify.source_url}>${name}</a>`}</b>: ${dataset.title}. Its SHA-256 is <code class="long">${verify.sha256}</code>. If DuckDB finds that it isn't UTF-8, as in 2019 and 2021, convert it by <code>iconv -f WINDOWS-1252 -t UTF-8</code>.`;
  return html`<details class="check" onToggle=${(event: Event & { currentTarget: HTMLDetailsElement }) => toggle?.(event.currentTarget.open)}><summary>${checkTitle}</summary>
    <p>These figures stay at <a href=${page}>this page's lasting address</a>, and in the API at <code class="long">${api}</code>.</p>
    <p>${file} Then these statements give them in <a href="https://duckdb.org">DuckDB</a>, without this site.${places !== null && ` The hospitals were chosen by the distance of their ZIP codes: ${places}.`}</p>
    ${lacking && html`<p role="status">${lacking}</p>`}${statements.map(({ title, sql }) => html`<p>${title}:</p><${Command} text=${sql} label=${title} />`)}
  </details>
    <div class="paper-only small">${checkTitle}: ${origin}${page}, and in the API ${origin}${api}. ${
      verify === null
        ? `The file is ${origin}${exported}.`
        : `CMS's file is ${verify.source_url ?? name}, with the SHA-256 ${verify.sha256}.`
    }</div>`;
}

export function CheckView({ view }: { view: View }) {
  const { choice, code, pinned: compared, datasets } = view;
  const scope = unlessFailed(view.scope);
  const dataset = datasets.find(({ data_version }) => data_version === scope?.source.data_version);
  const { ccns, lacking, toggle } = useHospitals(view);
  if (scope === null || dataset === undefined) return null;
  const rows: Rows = { dataset, code, state: choice.near === null ? choice.state : null, ccns };
  const trends = unlessFailed(view.trends);
  const nation: Rows = { dataset, code, state: null, ccns: null };
  const nations = yearsOf(trends, code, datasets);
  // Around a place, the picture of the years shows the nation.
  const years = nations.map((one) => ({ ...one, state: rows.state }));
  const own = compared.flatMap(({ entry }) => entry ?? []);
  const ownCcns = own.map(({ ccn }) => ccn);
  const isThere = own.every(
    (one) => ccns?.includes(one.ccn) ?? (choice.state === null || one.state === choice.state),
  );
  const known: Statement[] = [
    { title: "The figures of the list", sql: figuresSql([rows]) },
    { title: "The hospitals of the list", sql: ranksSql(rows) },
    ...(isThere ? [] : [{ title: "The compared hospitals in the nation", sql: ranksSql(nation, ownCcns) }]),
    { title: "The states", sql: statesSql(nation) },
    ...(years.length < 2
      ? []
      : [
          { title: "The years, each from its own file", sql: figuresSql(years) },
          { title: "The changes from year to year", sql: changesSql(years) },
        ]),
    ...(years.length < 2 || own.length === 0
      ? []
      : [
          {
            title: "The compared hospitals over the years",
            sql: hospitalYearsSql(nations, ownCcns),
          },
        ]),
  ];
  const { year, versions } = lastingOf(view);
  const api = pathsOf(code, { ...choice, year: dataset.data_version }).list;
  const places = choice.near === null ? null : (scope.source.places ?? null);
  return html`<${Check} dataset=${dataset} page=${withParameters({ year, versions, procedure: code })} api=${api} statements=${lacking === undefined ? known : []} places=${places} lacking=${lacking} toggle=${toggle} />`;
}

/**
 * Returns the CCNs of all hospitals around a place; null without a place. A long list is fetched when the visitor opens
 * the fold, and is empty until it has arrived.
 */
function useHospitals({ choice: { near }, list, paths }: View) {
  const [isOpen, toggle] = useState(false);
  const [got, setGot] = useState<{ from: string; ccns: string[]; failed?: string } | null>(null);
  const from = paths.all;
  const isLong = near !== null && !list.isAll;
  useEffect(() => {
    if (!isOpen || !isLong || got?.from === from) return;
    const fail = (error: unknown) => setGot({ from, ccns: [], failed: asFailure(error).message });
    viewOnce((ask) => rowsAt(from, ask)).then(
      (all) =>
        all instanceof Failure
          ? fail(all)
          : setGot({ from, ccns: all.data.map(({ ccn }) => ccn).toSorted() }),
      fail,
    );
  }, [isOpen, isLong, from]);
  const all = got?.from === from ? got : null;
  const lacking =
    isLong && (all === null || all.failed !== undefined)
      ? `The statements name all ${whole(list.facilities)} hospitals: ${all?.failed ?? "JavaScript gets their numbers"}.`
      : undefined;
  const listed = isLong ? (all?.ccns ?? []) : list.data.map(({ ccn }) => ccn).toSorted();
  return { ccns: near === null ? null : listed, lacking, toggle };
}

const yearsOf = (trends: TrendsAnswer | null, code: string, datasets: readonly Dataset[]): Rows[] =>
  (trends?.data ?? []).flatMap(({ data_version }) => {
    const dataset = datasets.find((one) => one.data_version === data_version);
    return dataset === undefined ? [] : [{ dataset, code, state: null, ccns: null }];
  });

/** @param page the page's permanent URL */
export function CheckHospital({ view, page }: { view: HospitalView; page: string }) {
  const { answer, procedure, trends, datasets } = view;
  const { ccn } = answer.facility;
  const version = answer.source.data_version;
  const dataset = datasets.find(({ data_version }) => data_version === version);
  if (dataset === undefined) return null;
  const api = pathOf(`/healthcare/facilities/${ccn}`, {}, version);
  const years = procedure === undefined ? [] : yearsOf(trends, procedure.code, datasets);
  const statements = [
    { title: "The hospital's procedures, and its ranks", sql: hospitalSql(dataset, ccn) },
    ...(years.length < leastYears
      ? []
      : [
          { title: "Its years, each from its own file", sql: hospitalYearsSql(years, [ccn]) },
          { title: "The nation's years", sql: figuresSql(years) },
        ]),
  ];
  return html`<${Check} dataset=${dataset} page=${page} api=${api} statements=${statements} />`;
}
