import { columnNames } from "../../../../datasets/cms/columns.ts";
import {
  amountsSql,
  type ColumnNames,
  quoted,
  textSql,
  unnamedFile,
} from "../../../../datasets/cms/statements.ts";
import { stayDeductibles } from "../../../../datasets/deductibles.ts";
import type { Dataset } from "./answers.ts";

/**
 * Writes statements for DuckDB that compute a page's figures from CMS's file or an export, without this service. They
 * follow the service's rules: a row is priced if both amounts are above zero, and amounts are rounded half up to cents.
 */

export interface Rows {
  dataset: Dataset;
  /** An APC code. */
  code: string;
  /** The state's code in upper case; null for the nation. */
  state: string | null;
  /** CCNs of the hospitals around a place; null without a place. */
  ccns: readonly string[] | null;
}

interface File {
  name: string;
  columns: ColumnNames;
}

const exportColumns = {
  ...{ ccn: "ccn", state: "state", code: "code" },
  ...{ charge: "submitted_charge", allowed: "medicare_allowed" },
};

/** Returns CMS's file of a data version, or this service's export if CMS's file isn't known. */
export const fileOf = ({ verify, data_version }: Dataset): File =>
  verify === null
    ? { name: `opps-${data_version}.csv`, columns: exportColumns }
    : { name: verify.file ?? unnamedFile, columns: columnNames };

/** @param conditions returns the SQL conditions of the rows; its argument returns the SQL expression of a column */
function pricedSql(
  dataset: Dataset,
  conditions: (text: (column: keyof ColumnNames) => string) => string[],
): string {
  const { name, columns } = fileOf(dataset);
  const rows = amountsSql(
    name,
    columns,
    conditions((column) => textSql(columns, column)),
  );
  return `SELECT * FROM (
    ${rows}
  ) WHERE charge > 0 AND allowed > 0`;
}

const rowsSql = ({ dataset, code, state, ccns }: Rows) =>
  pricedSql(dataset, (text) => [
    `${text("code")} = ${quoted(code)}`,
    ...(state === null ? [] : [`upper(${text("state")}) = ${quoted(state)}`]),
    ...(ccns === null ? [] : [`upper(${text("ccn")}) IN (${ccns.map(quoted).join(", ")})`]),
  ]);

function paysSql(allowed: string, { data_year }: Dataset): string {
  const most = stayDeductibles[data_year];
  const fifth = `${allowed} / 5`;
  return `round(${most === undefined ? fifth : `least(${fifth}, ${most})`}, 2)`;
}

const quantile = (column: "charge" | "allowed", part: number) =>
  `round(quantile_cont((100 * ${column})::BIGINT, ${part})) / 100`;

function summarySql(dataset: Dataset): string {
  const figures = [
    "count(*) AS hospitals",
    "min(charge) AS lowest_charge",
    `${quantile("charge", 0.25)} AS quarter_charge_less`,
    `${quantile("charge", 0.5)} AS median_charge`,
    `${quantile("charge", 0.75)} AS quarter_charge_more`,
    "max(charge) AS highest_charge",
    "min(allowed) AS lowest_allowed",
    `${quantile("allowed", 0.5)} AS median_allowed`,
    "max(allowed) AS highest_allowed",
    `${paysSql("min(allowed)", dataset)} AS you_pay_least`,
    `${paysSql(`(${quantile("allowed", 0.5)})`, dataset)} AS you_pay_median`,
    `${paysSql("max(allowed)", dataset)} AS you_pay_most`,
  ];
  return `SELECT ${dataset.data_year} AS year, ${figures.join(",\n  ")}`;
}

/** The figures of one list, or of the same list in several years. */
export const figuresSql = (years: readonly Rows[]): string =>
  `${years.map((rows) => `${summarySql(rows.dataset)}\nFROM (${rowsSql(rows)})`).join("\nUNION ALL\n")};`;

export const statesSql = (rows: Rows): string =>
  `SELECT state, count(*) AS hospitals, min(charge) AS lowest_charge, ${quantile("charge", 0.5)} AS median_charge,
  max(charge) AS highest_charge, ${quantile("allowed", 0.5)} AS median_allowed
FROM (${rowsSql(rows)})
GROUP BY state ORDER BY state;`;

/** Ranks hospitals by charge, the lowest first. @param ccns the hospitals to list; null for all */
export const ranksSql = (rows: Rows, ccns: readonly string[] | null = null): string =>
  `SELECT * FROM (
  SELECT ccn, charge, allowed, ${paysSql("allowed", rows.dataset)} AS you_pay,
    rank() OVER (ORDER BY charge) AS rank, count(*) OVER () AS hospitals
  FROM (${rowsSql(rows)})
)${ccns === null ? "" : ` WHERE ccn IN (${ccns.map(quoted).join(", ")})`} ORDER BY charge, ccn;`;

const ofYears = (years: readonly Rows[]) =>
  years
    .map((rows, i) => `SELECT ${i} AS i, ${rows.dataset.data_year} AS year, * FROM (${rowsSql(rows)})`)
    .join("\nUNION ALL\n");

/** The median of the hospitals' own changes, in percent with one decimal. */
const changeSql = (column: "charge" | "allowed") =>
  `(floor(1000 * quantile_cont(now.${column} / before.${column}, 0.5) + 0.5) - 1000) / 10`;

/** The changes of amounts from each year to the next, for hospitals with prices in both. @param years earliest first */
export const changesSql = (years: readonly Rows[]): string =>
  `WITH priced AS (${ofYears(years)})
SELECT now.year, count(*) AS hospitals_in_both, ${changeSql("charge")} AS percent_charge, ${changeSql("allowed")} AS percent_allowed
FROM priced now JOIN priced before ON now.ccn = before.ccn AND now.i = before.i + 1
GROUP BY now.year ORDER BY now.year;`;

export const hospitalYearsSql = (years: readonly Rows[], ccns: readonly string[]): string =>
  `SELECT ccn, year, charge, allowed FROM (${ofYears(years)})
WHERE ccn IN (${ccns.map(quoted).join(", ")}) ORDER BY ccn, year;`;

export const hospitalSql = (dataset: Dataset, ccn: string): string => {
  const beside = (where: string, by: string) => [
    `rank() OVER (PARTITION BY ${by} ORDER BY charge) AS ${where}_rank`,
    `count(*) OVER (PARTITION BY ${by}) AS ${where}_hospitals`,
    `round(quantile_cont((100 * charge)::BIGINT, 0.5) OVER (PARTITION BY ${by})) / 100 AS ${where}_median`,
  ];
  return `SELECT * EXCLUDE (ccn, state) FROM (
  SELECT *, ${paysSql("allowed", dataset)} AS you_pay,
    ${[...beside("national", "apc"), ...beside("state", "apc, state")].join(",\n    ")}
  FROM (${pricedSql(dataset, () => [])})
) WHERE ccn = ${quoted(ccn)} ORDER BY apc;`;
};
