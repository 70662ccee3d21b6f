import { html } from "../../../shared/browser/html.ts";
import { type Dataset, pathOf, unlessFailed } from "./answers.ts";
import { figuresSql, fileOf, hospitalSql, type Rows, ranksSql } from "./check.ts";
import { Command } from "./curl.ts";
import { lastingOf, pathsOf, type View } from "./explore-data.ts";
import { withParameters } from "./location.ts";

/** Shows how anybody can check a page's figures. */

interface Statement {
  title: string;
  sql: string;
}

/** @param page the pinned address of the page @param api the pinned path of the same figures in the API */
interface CheckProps {
  dataset: Dataset;
  page: string;
  api: string;
  statements: Statement[];
  /** By which table of ZIP codes the hospitals around a place were chosen; null without a place. */
  places?: string | null;
}

function Check({ dataset, page, api, statements, places = null }: CheckProps) {
  const { verify } = dataset;
  const { name } = fileOf(dataset);
  const exported = pathOf("/export.csv", {}, dataset.data_version);
  const file =
    verify === null
      ? html`Get <a href=${exported}>${exported}</a> with a key, and name the file <b>${name}</b>.`
      : html`Get CMS's file <b>${verify.source_url === null ? name : html`<a href=${verify.source_url}>${name}</a>`}</b>: ${dataset.title}. Its SHA-256 is <code class="long">${verify.sha256}</code>.`;
  return html`<details class="check"><summary>Check this number</summary>
    <p>These figures stay at <a href=${page}>this page's lasting address</a>, and in the API at <code class="long">${api}</code>.</p>
    <p>${file} Then these statements give them in <a href="https://duckdb.org">DuckDB</a>, without this site.${places !== null && ` The hospitals were chosen by the distance of their ZIP codes: ${places}.`}</p>
    ${statements.map(({ title, sql }) => html`<p>${title}:</p><${Command} text=${sql} label=${title} />`)}
  </details>`;
}

/** Checks the figures of the explore page. */
export function CheckView({ view }: { view: View }) {
  const { choice, code, list, pinned: compared, datasets } = view;
  const scope = unlessFailed(view.scope);
  const dataset = datasets.find(({ data_version }) => data_version === scope?.source.data_version);
  // Around a place, the statement lists all hospitals, so they have to be known.
  if (scope === null || dataset === undefined || (choice.near !== null && !list.isAll)) return null;
  const ccns = choice.near === null ? null : list.data.map(({ ccn }) => ccn).toSorted();
  const rows: Rows = { dataset, code, state: choice.near === null ? choice.state : null, ccns };
  const trends = unlessFailed(view.trends);
  const years = (trends?.data ?? []).flatMap(({ data_version }): Rows[] => {
    const of = datasets.find((one) => one.data_version === data_version);
    return of === undefined ? [] : [{ dataset: of, code, state: choice.state, ccns: null }];
  });
  const own = compared.flatMap(({ entry }) => entry ?? []);
  const isThere = own.every(
    (one) => ccns?.includes(one.ccn) ?? (choice.state === null || one.state === choice.state),
  );
  const among = isThere ? rows : { ...rows, state: null, ccns: null };
  const statements = [
    { title: "The figures of the list", sql: figuresSql([rows]) },
    ...(own.length === 0
      ? []
      : [
          {
            title: "The compared hospitals",
            sql: ranksSql(
              among,
              own.map(({ ccn }) => ccn),
            ),
          },
        ]),
    ...(years.length < 2 || choice.near !== null
      ? []
      : [{ title: "The years, each from its own file", sql: figuresSql(years) }]),
  ];
  const { year, versions } = lastingOf(view);
  const api = pathsOf(code, { ...choice, year: dataset.data_version }).list;
  const places = choice.near === null ? null : (scope.source.places ?? null);
  return html`<${Check} dataset=${dataset} page=${withParameters({ year, versions, procedure: code })} api=${api} statements=${statements} places=${places} />`;
}

interface CheckHospitalProps {
  ccn: string;
  version: string;
  datasets: readonly Dataset[];
  page: string;
}

/** Checks the figures of a hospital's page. */
export function CheckHospital({ ccn, version, datasets, page }: CheckHospitalProps) {
  const dataset = datasets.find(({ data_version }) => data_version === version);
  if (dataset === undefined) return null;
  const api = pathOf(`/healthcare/facilities/${ccn}`, {}, version);
  const statements = [{ title: "The hospital's procedures", sql: hospitalSql(dataset, ccn) }];
  return html`<${Check} dataset=${dataset} page=${page} api=${api} statements=${statements} />`;
}
